-- The schema after all migrations, without the engine's own tables. Written by `make schema`; never edited.

CREATE OR REPLACE FUNCTION public.headgate_complete_job(job_id bigint, owner uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
    update pgqueuer
    set status = 'successful', queue_manager_id = null, slot = null, updated = headgate_real_now()
    where id = job_id and queue_manager_id = owner and status = 'picked';
    if not found then
        raise exception 'job % has another owner now', job_id using errcode = 'HG001';
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.headgate_job_kind(headers jsonb, entrypoint text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN COALESCE((headers ->> 'kind'::text), entrypoint);

CREATE OR REPLACE FUNCTION public.headgate_real_now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 PARALLEL SAFE
RETURN clock_timestamp();

CREATE OR REPLACE FUNCTION public.lane_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
    if old.rate is distinct from new.rate or old.rate_epoch <> new.rate_epoch then
        insert into lane_change (owner, kind, at, from_rate, to_rate, cause, cool_until)
        values (
            new.owner, new.kind, new.rate_at, old.rate, new.rate, new.rate_cause,
            case when new.cool_until > new.rate_at then new.cool_until end
        );
    end if;
    if old.epoch <> new.epoch then
        perform pg_notify(
            'headgate_lane',
            json_build_object('owner', new.owner, 'kind', new.kind, 'epoch', new.epoch)::text
        );
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.lane_grace_s(ceiling double precision, burst integer)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN LEAST((2.0)::double precision, (((30.0 * ((burst - 1))::numeric))::double precision / ceiling));

CREATE OR REPLACE FUNCTION public.lane_limit(ceiling double precision, established boolean, warm_days integer)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN established THEN ceiling ELSE LEAST(ceiling, ((10.0)::double precision + (((0.25)::double precision * ceiling) * (warm_days)::double precision))) END;

CREATE OR REPLACE FUNCTION public.lane_recovered(rate double precision, rate_limit double precision, ceiling double precision, quiet_s double precision)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN LEAST(rate_limit, (rate + (((0.1)::double precision * ceiling) * floor((GREATEST(quiet_s, (0.0)::double precision) / (600.0)::double precision)))));

CREATE OR REPLACE FUNCTION public.lane_seconds(span interval)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (EXTRACT(epoch FROM span))::double precision;

CREATE OR REPLACE FUNCTION public.lane_slot(at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN (floor((EXTRACT(epoch FROM at) / (900)::numeric)))::bigint;

CREATE OR REPLACE FUNCTION public.lane_tolerance_s(ceiling double precision, burst integer)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((((60.0 * ((burst - 1))::numeric))::double precision / ceiling) - LEAST((2.0)::double precision, (((30.0 * ((burst - 1))::numeric))::double precision / ceiling)));

CREATE OR REPLACE FUNCTION public.lane_uses_at(uses integer[], later integer)
 RETURNS integer[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((uses)[(LEAST(GREATEST(later, 0), 98) + 1):98] || array_fill(0, ARRAY[LEAST(GREATEST(later, 0), 98)]));

CREATE TABLE account (
    id uuid NOT NULL,
    platform text NOT NULL,
    name text NOT NULL,
    state text NOT NULL DEFAULT 'active'::text,
    state_reason text NOT NULL DEFAULT ''::text,
    established boolean NOT NULL DEFAULT false,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT account_pkey PRIMARY KEY (id),
    CONSTRAINT account_platform_name_key UNIQUE (platform, name),
    CONSTRAINT account_state_check CHECK ((state = ANY (ARRAY['active'::text, 'needs_login'::text, 'restricted'::text, 'banned'::text])))
);

CREATE TABLE api_token (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    token_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    CONSTRAINT api_token_pkey PRIMARY KEY (id),
    CONSTRAINT api_token_scopes_check CHECK (((scopes <@ ARRAY['read'::text, 'write'::text, 'admin'::text]) AND (scopes <> '{}'::text[]))),
    CONSTRAINT api_token_token_hash_key UNIQUE (token_hash),
    CONSTRAINT api_token_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);
CREATE INDEX api_token_user ON public.api_token USING btree (user_id);

CREATE TABLE app_user (
    id uuid NOT NULL,
    name text NOT NULL,
    password_hash text NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT app_user_pkey PRIMARY KEY (id),
    CONSTRAINT app_user_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text])))
);
CREATE UNIQUE INDEX app_user_name ON public.app_user USING btree (lower(name));

CREATE TABLE channel (
    id uuid NOT NULL,
    platform text NOT NULL,
    key text NOT NULL,
    scope text NOT NULL DEFAULT ''::text,
    kind text NOT NULL,
    title text NOT NULL,
    parent_id uuid,
    message_scan_enabled boolean NOT NULL DEFAULT true,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT channel_kind_check CHECK ((kind = ANY (ARRAY['stream'::text, 'listing'::text]))),
    CONSTRAINT channel_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES channel(id),
    CONSTRAINT channel_pkey PRIMARY KEY (id),
    CONSTRAINT channel_platform_key_scope_key UNIQUE (platform, key, scope)
);

CREATE TABLE coverage (
    channel_id uuid NOT NULL,
    lens text NOT NULL,
    epoch integer NOT NULL DEFAULT 1,
    ranges int8multirange NOT NULL DEFAULT '{}'::int8multirange,
    CONSTRAINT coverage_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES stream(channel_id) ON DELETE CASCADE,
    CONSTRAINT coverage_pkey PRIMARY KEY (channel_id, lens)
);

CREATE TABLE cron (
    kind text NOT NULL,
    key text NOT NULL,
    schedule text NOT NULL,
    due_at timestamp with time zone,
    wake_seq bigint NOT NULL DEFAULT 0,
    CONSTRAINT cron_pkey PRIMARY KEY (kind, key)
);
CREATE INDEX cron_due ON public.cron USING btree (due_at);

CREATE TABLE dead_letter (
    id uuid NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    error_class text NOT NULL,
    message text NOT NULL,
    stack text NOT NULL,
    attempts integer NOT NULL,
    crashes integer NOT NULL,
    first_tried_at timestamp with time zone NOT NULL,
    died_at timestamp with time zone NOT NULL,
    state text NOT NULL DEFAULT 'open'::text,
    closed_at timestamp with time zone,
    kept boolean NOT NULL DEFAULT false,
    CONSTRAINT dead_letter_pkey PRIMARY KEY (id),
    CONSTRAINT dead_letter_state_check CHECK ((state = ANY (ARRAY['open'::text, 'replayed'::text, 'discarded'::text])))
);
CREATE INDEX dead_letter_newest ON public.dead_letter USING btree (died_at DESC, id DESC);
CREATE UNIQUE INDEX dead_letter_open ON public.dead_letter USING btree (kind, key) WHERE (state = 'open'::text);

CREATE TABLE headgate_migration (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT headgate_migration_pkey PRIMARY KEY (number)
);

CREATE TABLE item (
    id uuid NOT NULL,
    channel_id uuid NOT NULL,
    content_key text NOT NULL,
    kind text NOT NULL,
    title text NOT NULL,
    size_bytes bigint NOT NULL,
    sent_at timestamp with time zone NOT NULL,
    caught_at timestamp with time zone NOT NULL,
    hidden boolean NOT NULL DEFAULT false,
    CONSTRAINT item_channel_id_content_key_key UNIQUE (channel_id, content_key),
    CONSTRAINT item_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT item_kind_check CHECK ((kind = ANY (ARRAY['package'::text, 'clip'::text, 'picture'::text, 'file'::text]))),
    CONSTRAINT item_pkey PRIMARY KEY (id)
);
CREATE INDEX item_shown ON public.item USING btree (caught_at DESC, id DESC) WHERE (NOT hidden);

CREATE TABLE lane (
    owner text NOT NULL,
    kind text NOT NULL,
    shared text,
    ceiling double precision NOT NULL,
    burst integer NOT NULL,
    daily_cap integer,
    established boolean NOT NULL,
    pinned boolean NOT NULL DEFAULT false,
    rate double precision NOT NULL,
    rate_at timestamp with time zone NOT NULL,
    rate_cause text NOT NULL,
    epoch bigint NOT NULL DEFAULT 1,
    rate_epoch bigint NOT NULL DEFAULT 1,
    tat timestamp with time zone NOT NULL,
    cool_until timestamp with time zone NOT NULL,
    warm_days integer NOT NULL DEFAULT 0,
    warm_at timestamp with time zone,
    use_slot bigint NOT NULL,
    uses integer[] NOT NULL DEFAULT array_fill(0, ARRAY[98]),
    CONSTRAINT lane_burst_check CHECK ((burst >= 2)),
    CONSTRAINT lane_ceiling_check CHECK (((ceiling > (0)::double precision) AND (ceiling <= (60000000)::double precision))),
    CONSTRAINT lane_daily_cap_check CHECK ((daily_cap > 0)),
    CONSTRAINT lane_pkey PRIMARY KEY (owner, kind),
    CONSTRAINT lane_rate_check CHECK ((rate > (0)::double precision))
) WITH (fillfactor=40);
CREATE TRIGGER lane_changed AFTER UPDATE ON public.lane FOR EACH ROW WHEN (((old.rate IS DISTINCT FROM new.rate) OR (old.epoch <> new.epoch))) EXECUTE FUNCTION lane_changed();

CREATE TABLE lane_change (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    owner text NOT NULL,
    kind text NOT NULL,
    at timestamp with time zone NOT NULL,
    from_rate double precision NOT NULL,
    to_rate double precision NOT NULL,
    cause text NOT NULL,
    cool_until timestamp with time zone,
    CONSTRAINT lane_change_owner_kind_fkey FOREIGN KEY (owner, kind) REFERENCES lane(owner, kind) ON DELETE CASCADE,
    CONSTRAINT lane_change_pkey PRIMARY KEY (id)
);
CREATE INDEX lane_change_newest ON public.lane_change USING btree (owner, kind, id DESC);

CREATE TABLE lease (
    name text NOT NULL,
    token uuid NOT NULL,
    holder text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT lease_pkey PRIMARY KEY (name)
);

CREATE TABLE login_attempt (
    key text NOT NULL,
    failures integer NOT NULL,
    tried_at timestamp with time zone NOT NULL,
    blocked_until timestamp with time zone NOT NULL,
    CONSTRAINT login_attempt_pkey PRIMARY KEY (key)
);
CREATE INDEX login_attempt_tried ON public.login_attempt USING btree (tried_at);

CREATE TABLE product_clock (
    single boolean NOT NULL DEFAULT true,
    opened_at timestamp with time zone NOT NULL,
    real_anchor timestamp with time zone NOT NULL,
    product_anchor timestamp with time zone NOT NULL,
    scale double precision NOT NULL,
    CONSTRAINT product_clock_pkey PRIMARY KEY (single),
    CONSTRAINT product_clock_scale_check CHECK ((scale > (0)::double precision)),
    CONSTRAINT product_clock_single_check CHECK (single)
);

CREATE TABLE secret (
    owner text NOT NULL,
    name text NOT NULL,
    key_id text NOT NULL,
    ciphertext bytea NOT NULL,
    CONSTRAINT secret_pkey PRIMARY KEY (owner, name)
);

CREATE TABLE setup_link (
    token_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT setup_link_pkey PRIMARY KEY (token_hash)
);

CREATE TABLE sighting (
    id uuid NOT NULL,
    channel_id uuid NOT NULL,
    message_key text NOT NULL,
    attachment_key text NOT NULL,
    position bigint NOT NULL,
    topic text NOT NULL DEFAULT ''::text,
    album text NOT NULL DEFAULT ''::text,
    author text NOT NULL DEFAULT ''::text,
    file_name text NOT NULL,
    size_bytes bigint NOT NULL,
    mime_type text NOT NULL,
    content_id text NOT NULL DEFAULT ''::text,
    sent_at timestamp with time zone NOT NULL,
    version_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    verdict text NOT NULL,
    deleted_at timestamp with time zone,
    item_id uuid,
    CONSTRAINT sighting_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT sighting_channel_id_message_key_attachment_key_key UNIQUE (channel_id, message_key, attachment_key),
    CONSTRAINT sighting_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE SET NULL,
    CONSTRAINT sighting_pkey PRIMARY KEY (id)
);
CREATE INDEX sighting_item ON public.sighting USING btree (item_id);
CREATE INDEX sighting_position ON public.sighting USING btree (channel_id, "position");
CREATE INDEX sighting_waiting ON public.sighting USING btree (channel_id, id) WHERE ((verdict = 'kept'::text) AND (item_id IS NULL));

CREATE TABLE stream (
    channel_id uuid NOT NULL,
    floor bigint NOT NULL DEFAULT 0,
    head bigint,
    head_checked_at timestamp with time zone,
    tip_after timestamp with time zone,
    due_at timestamp with time zone,
    wake_seq bigint NOT NULL DEFAULT 0,
    scanned_at timestamp with time zone,
    message_count bigint NOT NULL DEFAULT 0,
    total_messages_scanned bigint NOT NULL DEFAULT 0,
    CONSTRAINT stream_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT stream_pkey PRIMARY KEY (channel_id)
);
CREATE INDEX stream_due ON public.stream USING btree (due_at);

CREATE TABLE user_session (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_agent text NOT NULL,
    address text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT user_session_pkey PRIMARY KEY (id),
    CONSTRAINT user_session_token_hash_key UNIQUE (token_hash),
    CONSTRAINT user_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);
CREATE INDEX user_session_expires ON public.user_session USING btree (expires_at);
CREATE INDEX user_session_user ON public.user_session USING btree (user_id);

CREATE TABLE watch (
    channel_id uuid NOT NULL,
    account_id uuid NOT NULL,
    role text NOT NULL DEFAULT 'reads'::text,
    CONSTRAINT watch_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT watch_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT watch_pkey PRIMARY KEY (channel_id, account_id),
    CONSTRAINT watch_role_check CHECK ((role = ANY (ARRAY['reads'::text, 'stands_by'::text])))
);
CREATE INDEX watch_account ON public.watch USING btree (account_id);
CREATE UNIQUE INDEX watch_reader ON public.watch USING btree (channel_id) WHERE (role = 'reads'::text);
