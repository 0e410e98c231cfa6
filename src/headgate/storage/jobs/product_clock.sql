-- name: anchor_clock
-- The first process anchors the product's clock; all others and all restarts go on from there. Another speed
-- anchors it anew at the time it shows, so that product time never goes back.
insert into product_clock as c (opened_at, real_anchor, product_anchor, scale)
values (%(real_now)s, %(real_now)s, %(real_now)s, %(scale)s)
on conflict (single) do update
set real_anchor = excluded.real_anchor,
    product_anchor = c.product_anchor + (excluded.real_anchor - c.real_anchor) * c.scale,
    scale = excluded.scale
where c.scale <> excluded.scale

-- name: get_anchor
-- The one row.
select opened_at, real_anchor, product_anchor, scale from product_clock
