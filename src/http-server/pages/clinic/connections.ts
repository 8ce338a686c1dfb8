import type { ConnectionStatus } from '../../../control/installation.ts';
import { clinicAddress } from '../../../documents/document.ts';
import { type Html, html } from '../../../model/html.ts';
import { mayDo } from '../../visitors.ts';
import type { PageContext } from '../context.ts';
import { linkButton, section, table } from '../parts.ts';
import { CLINIC } from '../texts/clinic.ts';

/** What works without anybody: all else is said in the colour of what needs a hand. */
const WELL: ReadonlySet<ConnectionStatus['state']> = new Set(['connected', 'retrying', 'static']);

/** A clinic's logins: whose each is, since when it is granted, when it ends, and the way to make it anew. */
export function connectionsPart(context: PageContext, tenant: string, connections: readonly ConnectionStatus[]): Html {
  const words = CLINIC[context.language];
  const columns = [
    words.connection,
    words.account,
    words.standing,
    words.granted,
    words.ends,
    { title: words.connect, isPlain: true },
  ];
  const rows = connections.map((each) => {
    const { connection, kind, account, sinceAt } = each;
    return {
      id: `connection-${connection}`,
      cells: [
        html`<strong>${connection}</strong> <span class="quiet">${kind}</span>`,
        account,
        describeState(context, each),
        sinceAt === null ? null : context.times.at(sinceAt),
        ends(context, each),
        button(context, tenant, each),
      ],
    };
  });
  return section('connections', words.connections, table(words.connections, columns, rows));
}

/** In words how a login stands. */
export function describeState({ language, times }: PageContext, status: ConnectionStatus): Html {
  const { state, reason, missingScopes, pause } = status;
  const words = CLINIC[language];
  const isWell = WELL.has(state) && missingScopes.length === 0;
  const missing = missingScopes.length === 0 ? null : html` <span>${words.missing(missingScopes.join(' '))}</span>`;
  const code = reason === null || isWell ? null : html` <code>${reason}</code>`;
  const nextTryAt = pause?.untilAt ?? status.nextTryAt;
  const again = nextTryAt === null ? null : html` <span>${words.nextTry(times.text(nextTryAt))}</span>`;
  const limited = pause === null ? null : html` <code>${pause.code}</code>`;
  const mark = isWell ? (nextTryAt === null ? 'ok' : 'wait') : 'act';
  return html`<span class="${mark}">${words[state]}</span>${missing}${code}${again}${limited}`;
}

function ends({ language, times }: PageContext, { state, refreshExpiresAt }: ConnectionStatus): Html | string | null {
  if (refreshExpiresAt !== null) return times.both(refreshExpiresAt);
  return state === 'connected' ? html`<span class="quiet">${CLINIC[language].renewed}</span>` : null;
}

function button(context: PageContext, tenant: string, { connection, state }: ConnectionStatus): Html | null {
  const { visitor, language } = context;
  if (visitor === null || !mayDo(visitor, 'operator') || state === 'static') return null;
  const kind = state === 'connected' ? 'plain' : 'main';
  return linkButton(connectionAddress(tenant, connection), CLINIC[language].connect, kind);
}

/** Where a login is made. */
export function connectionAddress(tenant: string, connection: string): string {
  return clinicAddress(tenant, `/connections/${encodeURIComponent(connection)}`);
}
