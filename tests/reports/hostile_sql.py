"""Statements that read files, write, reach out, run code, tell of the machine or never end.

`{secret}` is a file with a secret in it, `{out}` a file that is not there, `{home}` the home, `{db}` the
snapshot.
"""

READS = """
select * from read_csv('{secret}')
select * from read_csv_auto('{secret}', header = false)
select * from read_text('{secret}')
select content from read_blob('{secret}')
select * from read_json('{secret}')
select * from read_json_objects('{secret}')
select * from read_ndjson_auto('{secret}')
select * from read_parquet('{secret}')
select * from parquet_scan('{home}/parts/*.parquet')
select * from parquet_metadata('{home}/parts/*.parquet')
select * from parquet_schema('{home}/parts/*.parquet')
select * from read_duckdb('{home}/telemetry.duckdb', table_name = 'runs')
select * from sniff_csv('{secret}')
select * from glob('/etc/*')
from glob('{home}/**')
select * from '{secret}'
from '/etc/passwd'
from "/etc/passwd"
from 'file.csv'
from '{home}/workspace.sqlite'
select * from (from '{secret}') as x
select (select content from read_text('{secret}'))
select * from runs where run in (select content from read_text('{secret}'))
with x as (from read_text('{secret}')) from x
select * from runs, lateral (select * from read_text('{secret}'))
select * from runs union all by name from read_text('{secret}')
select * from query('from read_text(''{secret}'')')
select * from query_table('{secret}')
select * from json_execute_serialized_sql(json_serialize_sql('from read_text(''{secret}'')'))
select * from read_text /* words */ ('{secret}')
select * from ReAd_TeXt('{secret}')
select * from "read_text"('{secret}')
select * from main.read_text('{secret}')
select * from system.main.read_text('{secret}')
select * from "read_text\u200b"('{secret}')
select * from ｒｅａｄ_ｔｅｘｔ('{secret}')
-- select 1
from read_text('{secret}') --
/* select 1 */ from read_text('{secret}')
select 1 as "x'); from read_text('{secret}'); --", content from read_text('{secret}')
with "{secret}" as (select 1) select * from (with y as (select 2) from y) cross join '{secret}' z
pivot read_text('{secret}') on size using count(*)
describe from read_text('{secret}')
summarize from read_text('{secret}')
explain analyze from read_text('{secret}')
select * from read_csv('https://127.0.0.1:9/x.csv')
from 'https://127.0.0.1:9/x.parquet'
from 's3://bucket/x.parquet'
select getenv('HOME')
select * from secret_frame
select * from python_arrow_scan(1, 2, 3)
select * from pandas_scan(1)
"""

WRITES = """
insert into runs (run) values ('x')
update runs set run = 'x'
delete from runs
truncate runs
merge into runs using (select 'x' as run) s using (run) when matched then delete
with d as (delete from runs returning *) select * from d
with d as materialized (insert into runs (run) values ('x') returning *) from d
with d as (update runs set run = 'x' returning *) select count(*) from d
select * from (with d as (delete from steps returning *) from d)
create table x as select 1
create or replace table runs as select 1
create temp table x as select 1
create view x as select 1
create macro f(a) as a
create type t as enum ('a')
create sequence s
create index i on runs (run)
create schema x
create secret s (type s3, key_id 'k', secret 's')
drop table runs
drop schema main cascade
alter table runs add column x integer
comment on table runs is 'x'
copy runs to '{out}'
copy (select 1) to '{out}' (format parquet)
copy runs to '{db}' (format parquet)
copy runs from '{secret}'
export database '{out}'
import database '{home}'
attach '{out}' as x
attach '{home}/telemetry.duckdb' as y (read_only)
attach ':memory:' as z
detach telemetry
use information_schema
vacuum
checkpoint
force checkpoint
begin transaction
commit
install httpfs
load httpfs
load '{secret}'
force install spatial from 'http://127.0.0.1:9'
update extensions
set threads = 64
set memory_limit = '100GB'
set enable_external_access = true
set temp_directory = '{out}'
set lock_configuration = false
reset memory_limit
set variable x = 1
set global enable_logging = true
pragma enable_profiling = 'json'
pragma database_list
pragma table_info('runs')
pragma memory_limit = '100GB'
call enable_logging()
call pragma_version()
call truncate_duckdb_logs()
prepare p as select 1
execute p
deallocate p
select 1; delete from runs
select 1;; select 2
select 1; -- x
 drop table runs
/* a */ select 1 /* b */; insert into runs (run) values ('y') /* c */
select * from runs; copy runs to '{out}'
select 1 into x
select * from write_log('x')
select write_log('x')
select setval('s', 1)
select nextval('s')
"""

TELLS = """
select * from duckdb_databases()
select * from duckdb_settings()
select * from duckdb_settings() where name like '%path%'
select path from duckdb_databases
select sql from duckdb_views()
select * from duckdb_logs
select * from duckdb_secrets()
select * from duckdb_extensions()
select * from duckdb_temporary_files()
select * from duckdb_external_file_cache()
select * from duckdb_memory()
select current_setting('allowed_paths')
select current_setting('temp_directory') from runs
select main.current_setting('allowed_paths')
select [x for x in ['a'] if current_setting('allowed_paths') is not null]
select list_transform(['allowed_paths'], lambda x: current_setting(x))
select count(*) filter (where current_setting('home_directory') = '') from runs
select sum(1) over (order by current_setting('allowed_paths')) from runs
select current_database()
select current_schemas(true)
select current_query()
select view_definition from information_schema.views
select * from information_schema.tables
select * from pg_catalog.pg_views
select * from pg_views
select * from sqlite_master
select * from main.sqlite_master
select * from pragma_database_list
select * from pragma_database_list()
select * from pragma_database_size()
select * from pragma_storage_info('runs')
select * from pragma_user_agent()
select * from pragma_platform()
select * from which_secret('s3://x', 's3')
select pg_get_viewdef(1)
select pg_conf_load_time()
select json_serialize_plan('select * from gpu_samples')
select * from schema_migrations
with duckdb_databases as (select 1) select * from duckdb_databases
with x as (with duckdb_settings as (select 1) from duckdb_settings) select * from duckdb_settings
show databases
show all tables
show tables
show variables
explain select * from gpu_samples
select sleep_ms(100000)
select pg_sleep(100)
select test from test_all_types()
"""

ENDLESS = """
select length(repeat('x', 2000000000))
select repeat(repeat('x', 1000000), 10000)
select list(i) from range(500000000) t(i)
select range(2000000000)
select string_agg(i::varchar, 'long words between the numbers') from range(200000000) t(i)
select i, sum(i) over (order by -i) from range(300000000) t(i) order by 2
select array_agg(a.i) from range(100000) a(i), range(100000) b
select lpad('', 2000000000, 'x') || rpad('', 2000000000, 'y')
select json_object('a', repeat('x', 1500000000))
select * from repeat(repeat('y', 100000000), 100)
"""

SLOW = """
select count(*) from range(100000000) a, range(1000000) b
with recursive r as (select 1 as i union all select i + 1 from r) select count(*) from r
select count(*) from steps a, steps b, steps c, steps d
select max(levenshtein(repeat('ab', 20000), repeat('ba', 20000 + i::int))) from range(1000) t(i)
select count(*) from generate_series(1, 9000000000000000000)
select regexp_matches(repeat('a', 200000) || i, '(a|aa)+$') from range(100000000) t(i) order by 1 limit 1
"""


def statements(block: str) -> list[str]:
    """The statements of a block, one a line; what follows a comment or begins with a space is its rest."""
    found: list[str] = []
    for line in block.strip("\n").split("\n"):
        goes_on = line.startswith(" ") or (
            found[-1:] and found[-1].startswith("--") and "\n" not in found[-1]
        )
        if goes_on and found:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found
