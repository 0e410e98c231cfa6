-- What the engine needs beside its own tables: leases, dead letters, recurring work, the product clock.

-- Real time, for leases and lanes alone: the moment at which it is asked, also after a wait for a lock.
-- One function, so that a simulator can put its own in its place.
create function headgate_real_now() returns timestamptz
language sql volatile parallel safe
return clock_timestamp();

-- The fence of jobs that end with their effects: completes them, or fails the whole statement if another
-- worker owns one of them now. An update, not a delete: a delete makes the engine notify, and notifying commits one
-- after the other. The rows go with the next flush or sweep.
create function headgate_complete_jobs(job_ids bigint[], owners uuid[]) returns void
language plpgsql volatile as $$
declare
    completed int;
begin
    update pgqueuer as q
    set status = 'successful', queue_manager_id = null, slot = null, updated = headgate_real_now()
    from unnest(job_ids, owners) as ended (job_id, owner)
    where q.id = ended.job_id and q.queue_manager_id = ended.owner and q.status = 'picked';
    get diagnostics completed = row_count;
    if completed <> cardinality(job_ids) then
        raise exception 'another worker owns a job now' using errcode = 'HG001';
    end if;
end
$$;

-- The kind of a job, wherever it runs: a suspect is at an entrypoint of its own.
create function headgate_job_kind(headers jsonb, entrypoint text) returns text
language sql immutable parallel safe
return coalesce(headers ->> 'kind', entrypoint);

-- For how long a job that could run has waited for a slot; empty if it runs, rests, or is not there.
create function headgate_job_wait_s(dedupe text) returns double precision
language plpgsql stable
as $$
begin
    return (
        select extract(epoch from headgate_real_now() - max(greatest(q.created, q.execute_after)))
        from pgqueuer q
        where q.dedupe_key = dedupe and q.status = 'queued' and q.execute_after <= headgate_real_now()
    );
end
$$;

create table lease (
    name text primary key,
    token uuid not null,
    holder text not null,
    expires_at timestamptz not null,
    -- For how long it is held at once, at most.
    span_s double precision not null default 60
);

-- What the clocks showed last, by which one that was set back is noticed.
create table clock_mark (
    single boolean primary key default true check (single),
    product_at timestamptz not null,
    real_at timestamptz not null
);

-- A stored time after its clock was set back: what lies ahead lies as far ahead as before, what is past stays.
create function headgate_moved(stored timestamptz, at timestamptz, step interval) returns timestamptz
language sql immutable parallel safe
return case when stored > at then greatest(at, stored - step) else stored end;

create table dead_letter (
    id uuid primary key,
    kind text not null,
    key text not null,
    error_class text not null,
    message text not null,
    stack text not null,
    attempts int not null,
    crashes int not null,
    first_tried_at timestamptz not null,
    died_at timestamptz not null,
    state text not null default 'open' check (state in ('open', 'replayed', 'discarded')),
    closed_at timestamptz,
    kept boolean not null default false
);

create index dead_letter_newest on dead_letter (died_at desc, id desc);
create unique index dead_letter_open on dead_letter (kind, key) where state = 'open';

create table cron (
    kind text not null,
    key text not null,
    schedule text not null,
    due_at timestamptz,
    wake_seq bigint not null default 0,
    primary key (kind, key)
);

create index cron_due on cron (due_at);

create table product_clock (
    single boolean primary key default true check (single),
    opened_at timestamptz not null,
    real_anchor timestamptz not null,
    product_anchor timestamptz not null,
    scale double precision not null check (scale > 0)
);
