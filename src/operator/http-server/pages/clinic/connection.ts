import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MirrorError } from '../../../../core/model/errors.ts';
import { type Html, type HtmlPart, html } from '../../../../core/model/html.ts';
import { pathSegment } from '../../../../core/model/path-segment.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../../../core/model/time.ts';
import { message } from '../../../../messages/message.ts';
import { requireTenant } from '../../../control/installation.ts';
import { listLoginLinks } from '../../../control/logins.ts';
import type { ConnectionStatus } from '../../../control/status-schemas.ts';
import { clinicAddress } from '../../../documents/document.ts';
import { LOGIN_OPERATIONS } from '../../../operations/logins.ts';
import type { ResultOf } from '../../../operations/operation.ts';
import { formOf } from '../../browser-request.ts';
import { mayDo, type OperatorServices } from '../../operators.ts';
import { contextOf, operationContext, type PageContext, type PageVisit, reasonField } from '../context.ts';
import { sendPage } from '../layout.ts';
import { outcomeOf, resultLink, resultNotice, withOutcome } from '../outcomes.ts';
import { copyable, csrfField, linkButton, said, section, table, unfolding } from '../parts.ts';
import { CLINIC } from '../texts/clinic.ts';
import { ACTS, FRAME } from '../texts/frame.ts';
import { RESULTS } from '../texts/results.ts';

const { acceptAccount, makeLoginLink, withdrawLoginLink } = LOGIN_OPERATIONS;
const ROUTE = '/tenants/:tenant/connections/:connection';
/** The provider is queried for the account. */
const ACCEPT_TIMEOUT_MS = 30 * SECOND_MS;
/** Lifetimes for a link to send; without a choice, the lifetime of a link for immediate use. */
const LINK_HOURS = { day: DAY_MS / HOUR_MS, week: (7 * DAY_MS) / HOUR_MS };
interface ConnectionRoute {
  Params: { tenant: string; connection: string };
}

/** Adds the page to create a connection by link. */
export function addConnectionPage(app: FastifyInstance, services: OperatorServices): void {
  const config = { level: 'operator' } as const;
  app.get<ConnectionRoute>(ROUTE, { config }, async (request, reply) => {
    const { tenant, connection } = request.params;
    const found = await requireConnection(services, tenant, connection);
    return show({ request, reply, services }, found, waysIn(contextOf(request, services, tenant), services, found));
  });
  app.post<ConnectionRoute>(`${ROUTE}/link`, { config }, async (request, reply) => {
    const { tenant, connection } = request.params;
    const found = await requireConnection(services, tenant, connection);
    const hours = formOf(request).get('hours') || null;
    const wanted = { tenant, connection, hours: hours === null ? null : Number(hours) };
    const link = await makeLoginLink.run(wanted, operationContext(request, services));
    return show({ request, reply, services }, found, madeLink(contextOf(request, services, tenant), link));
  });
  app.post<ConnectionRoute>(`${ROUTE}/withdraw-link`, { config }, async (request, reply) => {
    const { tenant, connection } = request.params;
    const link = formOf(request).get('link') ?? '';
    const address = connectionAddress(tenant, connection);
    try {
      await withdrawLoginLink.run({ tenant, link }, operationContext(request, services));
      return reply.redirect(withOutcome(address, 'withdrawn'), 303);
    } catch (error) {
      if (!(error instanceof MirrorError) || error.code !== 'no-such-link') throw error;
      return reply.redirect(withOutcome(address, 'withdrawn-nothing'), 303);
    }
  });
  const accepting = { config, handlerTimeout: ACCEPT_TIMEOUT_MS + SECOND_MS };
  app.post<ConnectionRoute>(`${ROUTE}/accept`, accepting, async (request, reply) => {
    const { tenant, connection } = request.params;
    const account = formOf(request).get('account') ?? '';
    const signal = AbortSignal.timeout(ACCEPT_TIMEOUT_MS);
    const context = operationContext(request, services, { signals: { stop: signal, abort: signal } });
    const { state } = await requireConnection(services, tenant, connection);
    const pending = await pendingOf(services, tenant, connection);
    await acceptAccount.run({ tenant, connection, account }, context);
    const address = connectionAddress(tenant, connection);
    return reply.redirect(
      state === 'unconfirmed' ? withOutcome(address, 'accepted', pending) : withOutcome(address, 'accepted-again'),
      303,
    );
  });
}

/** Returns the number of changes that wait for a connection. */
async function pendingOf({ installation, statuses }: OperatorServices, tenant: string, connection: string) {
  const { tenants } = await statuses.ofTenant(installation, tenant);
  const targets = tenants.flatMap((each) => each.targets).filter((each) => each.connection === connection);
  return targets.reduce((sum, { pending }) => sum + pending, 0);
}

async function requireConnection(
  { installation }: OperatorServices,
  tenant: string,
  connection: string,
): Promise<ConnectionStatus> {
  const connections = await installation.connections(requireTenant(installation, tenant));
  const found = connections.find((each) => each.connection === connection);
  if (found !== undefined) return found;
  throw new MirrorError(message('no-such-login'), {
    actor: 'settings',
    code: 'no-such-login',
    retry: 'never',
    remedy: message('no-such-login.remedy', {
      ids: connections.map((each) => each.connection).join(', ') || message('none'),
    }),
  });
}

/** @param then the next step, or the result */
async function show(
  { request, reply, services }: PageVisit<FastifyRequest<ConnectionRoute>>,
  found: ConnectionStatus,
  then: HtmlPart,
): Promise<FastifyReply> {
  const context = contextOf(request, services, request.params.tenant);
  const words = ACTS[context.language];
  const { connection, kind, account, sinceAt } = found;
  const facts = html`<dl class="facts"><dt>${words.kind}</dt><dd>${kind}</dd><dt>${words.account}</dt><dd>${account ?? FRAME[context.language].unknown}</dd><dt>${words.standing}</dt><dd>${describeState(context, found)}</dd>${sinceAt === null ? null : html`<dt>${words.granted}</dt><dd>${context.times.both(sinceAt)}</dd>`}</dl>`;
  const accept = found.state === 'unconfirmed' ? acceptForm(context, services, found) : null;
  const links = await waitingLinks(context, services, request.params);
  return sendPage(reply, context, {
    title: words.connectTitle(connection),
    main: html`${await connectionResult(context, services, request.params)}${facts}${accept}${then}${links}`,
  });
}

function waysIn(context: PageContext, services: OperatorServices, { connection, state }: ConnectionStatus): Html {
  const words = ACTS[context.language];
  const tenant = context.tenant?.id ?? '';
  if (state === 'static') return html`<p>${words.staticText}</p>`;
  const command = html`<p>${words.byCommand} ${copyable(context, `clinic-mirror login ${tenant} ${connection}`)}</p>`;
  // Without a public URL, no links are possible.
  if (services.loginServices().remote === null) return command;
  const address = `${connectionAddress(tenant, connection)}/link`;
  const form = html`<form class="stack" method="post" action="${address}">${csrfField(context.visitor)}<p>${words.linkText}</p>${linkLife(context)}${reasonField(context, services, 'login-link')}<p><button class="button main">${words.makeLink}</button></p></form>`;
  return html`${form}${command}`;
}

function linkLife({ language }: PageContext): Html {
  const words = ACTS[language];
  const { day, week } = LINK_HOURS;
  return html`<p><label>${words.linkLife} <select name="hours"><option value="">${words.tenMinutes}</option><option value="${day}">${words.aDay}</option><option value="${week}">${words.aWeek}</option></select></label></p>`;
}

function madeLink(context: PageContext, { url: link, endsAt }: ResultOf<typeof makeLoginLink>): Html {
  const words = ACTS[context.language];
  return html`<div class="notice stack" role="status"><p>${words.linkMade(context.times.text(endsAt))}</p><p>${copyable(context, link)}</p><p>${linkButton(link, words.openLink)}</p></div>`;
}

/** Renders the result of a revoked link or a confirmed account; null after another action. */
async function connectionResult(
  context: PageContext,
  services: OperatorServices,
  route: ConnectionRoute['Params'],
): Promise<Html | null> {
  const words = RESULTS[context.language];
  const { outcome, figures: [pending = 0] = [] } = outcomeOf(context) ?? {};
  const toClinic = resultLink(clinicAddress(route.tenant), words.toClinic);
  switch (outcome) {
    case 'withdrawn': {
      const rest = (await linksOf(services, route)).length;
      const remainder = rest === 0 ? words.noLinksLeft : resultLink('#links', words.linksLeft(rest));
      return resultNotice([html`${words.withdrawn} ${remainder}`]);
    }
    case 'withdrawn-nothing':
      return resultNotice([words.withdrawnNothing]);
    case 'accepted':
      return resultNotice([html`${pending === 0 ? words.acceptedNone : words.accepted(pending)} ${toClinic}`]);
    case 'accepted-again':
      return resultNotice([html`${words.acceptedAgain} ${toClinic}`]);
    default:
      return null;
  }
}

async function linksOf(services: OperatorServices, { tenant, connection }: ConnectionRoute['Params']) {
  const loginServices = services.loginServices();
  if (loginServices.remote === null) return [];
  return (await listLoginLinks(loginServices, tenant)).filter((link) => link.connection === connection);
}

/** Renders unopened links, each with a button to revoke. */
async function waitingLinks(
  context: PageContext,
  services: OperatorServices,
  { tenant, connection }: ConnectionRoute['Params'],
): Promise<Html | null> {
  const words = ACTS[context.language];
  const links = await linksOf(services, { tenant, connection });
  if (links.length === 0) return null;
  const { at, both } = context.times;
  const columns = [words.madeBy, words.madeAt, words.goodUntil, { title: words.withdraw, isPlain: true }];
  const rows = links.map(({ id, by, madeAt, endsAt }) => ({
    id: `link-${id}`,
    cells: [
      ...[by, at(madeAt), both(endsAt)],
      html`<button class="button danger" name="link" value="${id}">${words.withdraw}</button>`,
    ],
  }));
  const address = `${connectionAddress(tenant, connection)}/withdraw-link`;
  const form = html`<form class="stack" method="post" action="${address}">${csrfField(context.visitor)}${reasonField(context, services, 'withdraw-link')}${table(words.linksWaiting, columns, rows)}</form>`;
  return section('links', words.linksWaiting, form);
}

function acceptForm(context: PageContext, services: OperatorServices, { connection, account }: ConnectionStatus): Html {
  const words = ACTS[context.language];
  const tenant = context.tenant?.id ?? '';
  return html`<form class="notice act stack" method="post" action="${connectionAddress(tenant, connection)}/accept">${csrfField(context.visitor)}<p>${words.acceptText}</p><label>${words.acceptAsk} <input name="account" required maxlength="300" autocomplete="off"></label>${reasonField(context, services, 'accept-account')}<p><button class="button main">${words.accept(account ?? '')}</button></p></form>`;
}

/** States without a required action; others have the warning colour. */
const WELL: ReadonlySet<ConnectionStatus['state']> = new Set(['connected', 'retrying', 'static']);

/** A longer list of connections is folded, without those that require action. */
const MOST_UNFOLDED = 6;

/** Returns the address of an account, without the vendor's id behind it, or the id alone; null for an unknown account. */
export function accountName(account: string | null): string | null {
  return account === null || account === 'unknown' ? null : account.replace(/(?<=\S) \([^()]*\)$/, '');
}

/** Renders a clinic's connections: account, start, expiry, and the way to reconnect. */
export function connectionsPart(context: PageContext, tenant: string, connections: readonly ConnectionStatus[]): Html {
  const words = CLINIC[context.language];
  const isWell = ({ state, missingScopes }: ConnectionStatus) => WELL.has(state) && missingScopes.length === 0;
  const folded = connections.length > MOST_UNFOLDED ? connections.filter(isWell) : [];
  const shown = connections.filter((each) => !folded.includes(each));
  const unfolded = shown.length === 0 ? null : connectionTable(context, tenant, shown);
  const rest =
    folded.length === 0
      ? null
      : html`<div class="${unfolded === null ? 'stack' : 'more'}"><div class="folds">${unfolding('connections-ok', words.wellConnections(folded.length), connectionTable(context, tenant, folded))}</div></div>`;
  return section('connections', words.connections, html`${unfolded}${rest}`);
}

function connectionTable(context: PageContext, tenant: string, connections: readonly ConnectionStatus[]): Html {
  const words = CLINIC[context.language];
  const columns = [
    words.account,
    words.kind,
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
        html`<strong title="${connection}">${accountName(account) ?? connection}</strong>`,
        kind,
        describeState(context, each),
        sinceAt === null ? null : context.times.at(sinceAt),
        ends(context, each),
        button(context, tenant, each),
      ],
    };
  });
  return table(words.connections, columns, rows);
}

/** Describes a connection's state in words. */
function describeState(context: PageContext, status: ConnectionStatus): Html {
  const { language, times } = context;
  const { state, reason, missingScopes, pause } = status;
  const words = CLINIC[language];
  const isWell = WELL.has(state) && missingScopes.length === 0;
  const missing = missingScopes.length === 0 ? null : html` <span>${words.missing(missingScopes.join(' '))}</span>`;
  const code = reason === null || isWell ? null : html` <code>${reason}</code>`;
  const nextTryAt = pause?.untilAt ?? status.nextTryAt;
  const again =
    nextTryAt === null
      ? null
      : html` <span>${said(context, message('next-try', { time: times.text(nextTryAt) }))}</span>`;
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

/** Returns the URL of the page to connect. */
export function connectionAddress(tenant: string, connection: string): string {
  return clinicAddress(tenant, `/connections/${pathSegment(connection)}`);
}
