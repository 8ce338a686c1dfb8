import type { ACCESS_OPERATIONS } from '../operations/access.ts';
import type { LOGIN_OPERATIONS } from '../operations/logins.ts';
import type { ResultOf } from '../operations/operation.ts';
import { renderTable, renderTime } from './table.ts';

/** Tokens by which programs call the API. */
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

/** Links by which somebody can log in. */
export function renderLinks({ links }: ResultOf<typeof LOGIN_OPERATIONS.listLoginLinks>): string {
  if (links.length === 0) return 'No link waits to be opened.';
  return renderTable(
    ['link', 'connection', 'made by', 'made at', 'good until'],
    links.map(({ id, connection, by, madeAt, endsAt }) => [id, connection, by, renderTime(madeAt), renderTime(endsAt)]),
  );
}
