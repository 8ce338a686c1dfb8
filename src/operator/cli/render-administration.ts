import type { FEED_OPERATIONS } from '../../features/feeds/operations.ts';
import type { CONFIGURATION_OPERATIONS } from '../../features/managed-tenants/operations.ts';
import { renderFaults } from '../../settings/faults.ts';
import type { ACCESS_OPERATIONS } from '../operations/access.ts';
import type { LOGIN_OPERATIONS } from '../operations/logins.ts';
import type { ResultOf } from '../operations/operation.ts';
import { firstRows } from './output.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Renders API tokens. */
export function renderTokens({ tokens }: ResultOf<typeof ACCESS_OPERATIONS.listAccessTokens>): string {
  if (tokens.length === 0) return 'No tokens exist.';
  return renderTable(
    ['token', 'level', 'tenants', 'created by', 'valid until'],
    tokens.map(({ name, level, tenants, by, endsAt }) => [
      name,
      level,
      tenants?.join(', ') ?? 'all',
      by,
      renderTime(endsAt),
    ]),
  );
}

/** Renders sessions. Each id has a line of its own, because `sessions end` takes it whole and a column could cut it. */
export function renderSessions({ sessions }: ResultOf<typeof ACCESS_OPERATIONS.listSessions>): string {
  if (sessions.length === 0) return 'No sessions are open.';
  const [heading, rule, ...rows] = renderTable(
    ['user', 'name', 'browser', 'network', 'signed in', 'last used'],
    sessions.map(({ user, name, browser, network, beganAt, lastUsedAt }) => [
      ...[user, name, browser ?? 'unknown', network ?? 'unknown'],
      ...[renderTime(beganAt), renderTime(lastUsedAt)],
    ]),
  ).split('\n');
  return [heading, rule, ...rows.flatMap((row, index) => [row, `  session ${sessions[index]?.id}`])].join('\n');
}

/** Renders login links. */
export function renderLinks({ links }: ResultOf<typeof LOGIN_OPERATIONS.listLoginLinks>): string {
  if (links.length === 0) return 'No unused links exist.';
  return renderTable(
    ['link', 'connection', 'created by', 'created at', 'valid until'],
    links.map(({ id, connection, by, madeAt, endsAt }) => [id, connection, by, renderTime(madeAt), renderTime(endsAt)]),
  );
}

type Operations = typeof CONFIGURATION_OPERATIONS;

/** Renders where each tenant is configured. */
export function renderSources({ items }: ResultOf<Operations['listConfigurations']>): string {
  if (items.length === 0) return 'No tenants exist.';
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
  const where = file === null ? `managed, revision ${revision}` : `configured by ${file}; edit this file`;
  return [
    wrap(`${tenant}: ${where}.`),
    ...(secrets.length === 0 ? [] : [wrap(`Stored encrypted: ${secrets.join(', ')}.`)]),
    ...(faults.length === 0 ? [] : [renderFaults(faults)]),
    ...(yaml === null ? [] : ['', yaml.trimEnd()]),
  ].join('\n');
}

/** Renders the tenants whose Redis records the operator accepted. */
export function renderAccepted({ accepted }: ResultOf<Operations['acceptTenants']>): string {
  if (accepted.length === 0) return 'No tenant is state-damaged: nothing was changed.';
  return accepted
    .map(({ tenant, revision }) =>
      wrap(
        revision === null
          ? `Tenant ${tenant} is accepted as removed.`
          : `Tenant ${tenant} is accepted with the configuration in Redis, revision ${revision}.`,
      ),
    )
    .join('\n');
}

/** Renders the data that remains of a removed tenant. */
export function renderRemoved({ tenant, file }: ResultOf<Operations['removeTenant']>): string {
  if (file !== null) {
    return wrap(
      `Tenant ${tenant} is now configured by ${file}; its state and connections remain. To check the file: clinic-mirror config check`,
    );
  }
  return wrap(
    `Tenant ${tenant} is removed. The daemon deletes its state later; calendars and CRMs keep their objects.`,
  );
}

/** Renders feeds as a table. */
export function renderFeeds({ feeds }: ResultOf<typeof FEED_OPERATIONS.listFeeds>): string {
  if (feeds.length === 0) return 'No target is a feed: add a target with connector: feed (docs/feeds.md).';
  const columns = ['tenant', 'target', 'URL created', 'last fetched'];
  const rows = feeds.map(({ tenant, target, access }) => [
    tenant,
    target,
    access === null ? 'none' : renderTime(access.madeAt),
    access === null ? '' : renderTime(access.fetchedAt),
    access?.fetches ?? 0,
  ]);
  return renderTable([...columns, 'fetches'], rows);
}
