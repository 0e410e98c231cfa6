-- Who may come in, and how: users, sign-ins, API tokens, the first link, throttling; and secrets at rest.

create table app_user (
    id uuid primary key,
    name text not null,
    password_hash text not null,
    role text not null check (role in ('admin', 'member')),
    created_at timestamptz not null
);

create unique index app_user_name on app_user (lower(name));

-- Tokens are stored as SHA-256 only: a stolen backup signs nobody in.
create table user_session (
    id uuid primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    token_hash bytea not null unique,
    user_agent text not null,
    address text not null,
    created_at timestamptz not null,
    last_seen_at timestamptz not null,
    expires_at timestamptz not null
);

create index user_session_user on user_session (user_id);
create index user_session_expires on user_session (expires_at);

create table api_token (
    id uuid primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    name text not null,
    token_hash bytea not null unique,
    scopes text[] not null check (scopes <@ array['read', 'write', 'admin'] and scopes <> '{}'),
    created_at timestamptz not null,
    last_used_at timestamptz,
    expires_at timestamptz not null
);

create index api_token_user on api_token (user_id);

-- Browsers that signed in before; a stranger's wrong guesses at a user do not count against them.
create table known_browser (
    token_hash bytea primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    seen_at timestamptz not null
);

create index known_browser_user on known_browser (user_id, seen_at);

-- The one-time link that makes the first administrator.
create table setup_link (
    token_hash bytea primary key,
    created_at timestamptz not null,
    expires_at timestamptz not null
);

-- One row a user, unknown name, address or known browser that people try to sign in with.
create table login_attempt (
    key text primary key,
    failures int not null,
    tried_at timestamptz not null,
    blocked_until timestamptz not null
);

create index login_attempt_tried on login_attempt (tried_at);

create table secret (
    owner text not null,
    name text not null,
    key_id text not null,
    ciphertext bytea not null,
    primary key (owner, name)
);
