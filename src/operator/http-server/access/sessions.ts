import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../../core/model/html.ts';
import { endOtherSessions, listSessions, OWN_ONLY, type UserSession } from '../../control/sessions.ts';
import { browserKeyOf, formOf } from '../browser-request.ts';
import type { OperatorServices } from '../operators.ts';
import { SESSIONS_PATH, visitorOf } from '../operators.ts';
import { actingOf, contextOf, type PageContext } from '../pages/context.ts';
import { sendPage } from '../pages/layout.ts';
import { outcomeOf, resultNotice, withOutcome } from '../pages/outcomes.ts';
import { csrfField, hiddenFields, table } from '../pages/parts.ts';
import { RESULTS } from '../pages/texts/results.ts';
import { SESSIONS } from '../pages/texts/sessions.ts';

/** Adds the page of the visitor's own sessions, with buttons that end one other session, or all others. A token has no sessions. */
export function addSessionsPage(app: FastifyInstance, services: OperatorServices, publicUrl: () => string): void {
  const { access } = services;
  const config = { level: 'viewer' } as const;
  app.get(SESSIONS_PATH, { config }, async (request, reply) => {
    const context = contextOf(request, services);
    const sessions = await listSessions(access, {
      acting: services.acting(visitorOf(request), null),
      rights: OWN_ONLY,
    });
    const own = access.sessions.idOf(browserKeyOf(request, 'session', publicUrl()));
    return sendPage(reply, context, {
      title: SESSIONS[context.language].title,
      main: html`${sessionsResult(context)}${renderSessions(context, sessions, own)}`,
    });
  });
  app.post(SESSIONS_PATH, { config }, async (request, reply) => {
    const session = browserKeyOf(request, 'session', publicUrl());
    const chosen = formOf(request).get('session');
    const count = await endOtherSessions(access, actingOf(request, services), session, chosen);
    return reply.redirect(withOutcome(SESSIONS_PATH, 'ended', count), 303);
  });
}

function sessionsResult(context: PageContext): Html | null {
  const words = RESULTS[context.language];
  const { outcome, figures: [count = 0] = [] } = outcomeOf(context) ?? {};
  if (outcome !== 'ended') return null;
  return resultNotice([count === 0 ? words.endedNothing : words.ended(count)]);
}

/** @param own id of the session of the request */
function renderSessions(context: PageContext, sessions: readonly UserSession[], own: string): Html {
  const words = SESSIONS[context.language];
  const { times } = context;
  const rows = sessions.map(({ id, beganAt, lastUsedAt, network, browser }) => ({
    cells: [
      browser ?? words.unknown,
      network ?? words.unknown,
      times.both(beganAt),
      times.both(lastUsedAt),
      id === own ? words.here : endButton(context, words.end, { session: id }),
    ],
  }));
  const columns = [words.browser, words.network, words.began, words.lastUsed, { title: words.end, isPlain: true }];
  const isAlone = sessions.every(({ id }) => id === own);
  const endAll = isAlone ? null : html`<div class="buttons">${endButton(context, words.endOthers, {})}</div>`;
  return html`<div class="stack"><p class="quiet">${words.intro}</p>${table(words.title, columns, rows)}${endAll}</div>`;
}

function endButton({ visitor }: PageContext, text: string, fields: Readonly<Record<string, string>>): Html {
  return html`<form method="post" action="${SESSIONS_PATH}">${csrfField(visitor)}${hiddenFields(fields)}<button class="button plain">${text}</button></form>`;
}
