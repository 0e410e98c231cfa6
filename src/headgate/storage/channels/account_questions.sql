-- name: insert_question
-- Askers remove their questions; what a crash left of older ones goes here.
with old as (
    delete from account_question where created_at < %(now)s::timestamptz - interval '1 day'
)
insert into account_question (id, account_id, created_at) values (%(id)s, %(account_id)s, %(now)s)

-- name: get_question
-- A question, with its answer if there is one.
select id, account_id, answered, found, error_class, error from account_question where id = %(id)s

-- name: answer_question
-- By the process that holds the account.
update account_question set answered = true, found = %(found)s, error_class = %(error_class)s, error = %(error)s
where id = %(id)s

-- name: delete_question
-- It was answered, or nobody waits for the answer any more.
delete from account_question where id = %(id)s
