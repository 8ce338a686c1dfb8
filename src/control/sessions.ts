import type { ListedSession } from '../state/access.ts';
import { type AccessServices, sessionLifeOf } from './access.ts';
import { recordEntry } from './recording.ts';
import { principalOf } from './sign-in.ts';

/** A user's session; `isThis`: of the request. */
export type OwnSession = ListedSession & { isThis: boolean };

/** Returns the open sessions of the user of a session, newest first. */
export async function listOwnSessions(
  services: AccessServices,
  who: { id: string },
  session: string,
): Promise<OwnSession[]> {
  const settings = services.settings();
  if (settings === null) return [];
  const listed = await services.sessions.list(who.id, sessionLifeOf(settings));
  return listed.map((each) => ({ ...each, isThis: each.id === services.sessions.idOf(session) }));
}

/** Ends another session of the user, or all others, and records how many. @param chosen id; null: all others */
export async function endOtherSessions(
  services: AccessServices,
  who: { id: string; name: string },
  session: string,
  chosen: string | null,
): Promise<void> {
  const others = (await listOwnSessions(services, who, session)).filter(({ isThis }) => !isThis).map(({ id }) => id);
  const ids = chosen === null ? others : others.filter((id) => id === chosen);
  const settings = services.settings();
  if (settings === null || ids.length === 0) return;
  const ended = await services.sessions.endListed(who.id, ids, sessionLifeOf(settings));
  const acting = { who: principalOf(who), why: null, actServices: services.acts };
  await recordEntry(acting, { verb: 'sign-out', tenant: null, what: { others: ended } }, { outcome: 'done' });
}
