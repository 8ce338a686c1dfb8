import type { FEED_OPERATIONS } from '../features/feeds/operations.ts';
import type { CONFIGURATION_OPERATIONS } from '../features/managed-tenants/operations.ts';
import type { ACCESS_OPERATIONS } from '../operations/access.ts';
import type { LOGIN_OPERATIONS } from '../operations/logins.ts';
import type { ResultOf } from '../operations/operation.ts';
import { renderFaults } from '../settings/faults.ts';
import { firstRows } from './output.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Renders API tokens. */
export function renderTokens({ tokens }: ResultOf<typeof ACCESS_OPERATIONS.listAccessTokens>): string {
  if (tokens.length === 0) return 'There is no token.';
  return renderTable(
    ['token', 'level', 'tenants', 'made by', 'good until'],
    tokens.map(({ name, level, tenants, by, endsAt }) => [
      name,
      level,
      tenants?.join(', ') ?? 'all',
      by,
      renderTime(endsAt),
    ]),
  );
}

/** Renders login links. */
export function renderLinks({ links }: ResultOf<typeof LOGIN_OPERATIONS.listLoginLinks>): string {
  if (links.length === 0) return 'No link waits to be opened.';
  return renderTable(
    ['link', 'connection', 'made by', 'made at', 'good until'],
    links.map(({ id, connection, by, madeAt, endsAt }) => [id, connection, by, renderTime(madeAt), renderTime(endsAt)]),
  );
}

type Operations = typeof CONFIGURATION_OPERATIONS;

/** Renders where each tenant is configured. */
export function renderSources({ items }: ResultOf<Operations['listConfigurations']>): string {
  if (items.length === 0) return 'There is no tenant.';
  const { shown, more } = firstRows(items, Number.POSITIVE_INFINITY);
  const table = renderTable(
    ['tenant', 'configured by', 'revision'],
    shown.map(({ tenant, file, revision }) => [tenant, file ?? 'managed', revision ?? '']),
  );
  return [table, ...more].join('\n');
}

/** Renders the configuration of a tenant, with faults. */
export function renderDocument(document: ResultOf<Operations['readConfiguration']>): string {
  const { tenant, file, revision, yaml, secrets, faults } = document;
  const where = file === null ? `managed, revision ${revision}` : `configured by ${file}, which is edited there`;
  return [
    wrap(`${tenant}: ${where}.`),
    ...(secrets.length === 0 ? [] : [wrap(`Kept sealed: ${secrets.join(', ')}.`)]),
    ...(faults.length === 0 ? [] : [renderFaults(faults)]),
    ...(yaml === null ? [] : ['', yaml.trimEnd()]),
  ].join('\n');
}

/** Renders the tenants whose Redis records the operator accepted. */
export function renderAccepted({ accepted }: ResultOf<Operations['acceptTenants']>): string {
  if (accepted.length === 0) return 'None of them is record-forged: nothing was changed.';
  return accepted
    .map(({ tenant, revision }) =>
      wrap(
        revision === null
          ? `The tenant ${tenant} counts as removed from now on.`
          : `The tenant ${tenant} counts as Redis has it from now on, revision ${revision}.`,
      ),
    )
    .join('\n');
}

/** Renders the data that remains of a removed tenant. */
export function renderRemoved({ tenant, file }: ResultOf<Operations['removeTenant']>): string {
  if (file !== null) {
    return wrap(
      `The tenant ${tenant} is configured by ${file} from now on; its state and logins stay. That it has no faults is told by: clinic-mirror config check`,
    );
  }
  return wrap(`The tenant ${tenant} is removed. What is kept of it goes later, and what it wrote elsewhere stays.`);
}

/** Renders feeds as a table. */
export function renderFeeds({ feeds }: ResultOf<typeof FEED_OPERATIONS.listFeeds>): string {
  if (feeds.length === 0) return 'No target is a feed: add one with connector: feed (docs/feeds.md).';
  const columns = ['tenant', 'target', 'address made', 'last fetched'];
  const rows = feeds.map(({ tenant, target, access }) => [
    tenant,
    target,
    access === null ? 'none' : renderTime(access.madeAt),
    access === null ? '' : renderTime(access.fetchedAt),
    access?.fetches ?? 0,
  ]);
  return renderTable([...columns, 'fetches'], rows);
}
