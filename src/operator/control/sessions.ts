import type { AccessRights } from '../../core/model/acts.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { message } from '../../messages/message.ts';
import { type AccessServices, nameOfAccount, type SignedIn, sessionLifeOf } from './access.ts';
import type { ListedSession } from './access-stores.ts';
import { type Acting, recordAct } from './recording.ts';

/** A session in an answer. */
export type UserSession = Omit<ListedSession<SignedIn>, 'account' | 'who'> & {
  /** Permanent id of the user, as in the audit log. */
  user: string;
  name: string;
};

/** The caller, with the rights of the request. */
interface SessionCaller {
  acting: Acting;
  rights: AccessRights;
}

/** Returns the open sessions of the caller, newest first; for an owner of all tenants the sessions of all users. */
export async function listSessions(
  services: AccessServices,
  { acting: { who }, rights: { level, tenants } }: SessionCaller,
): Promise<UserSession[]> {
  const settings = services.settings();
  if (settings === null) return [];
  const life = sessionLifeOf(settings);
  const isOfAll = level === 'owner' && tenants === null;
  const listed = isOfAll ? await services.sessions.listAll(life) : await services.sessions.list(who.id, life);
  return listed.map(({ account, who: user, ...session }) => ({ ...session, user: account, name: nameOfAccount(user) }));
}

/**
 * Ends sessions that the caller can list, and records them.
 * @param id id of one session, or of a user: all sessions of the user
 * @throws MirrorError `settings`, code `no-such-session`; as {@link recordAct}
 */
export async function endSessions(
  services: AccessServices,
  caller: SessionCaller,
  id: string,
): Promise<{ ended: number }> {
  const ended = (await listSessions(services, caller)).filter((session) => [session.id, session.user].includes(id));
  const [one] = ended;
  if (one === undefined) {
    throw new MirrorError(message('no-such-session'), {
      ...{ actor: 'settings', code: 'no-such-session', retry: 'never' },
      remedy: message('no-such-session.remedy'),
    });
  }
  const about = { verb: 'end-sessions', tenant: null, what: { user: one.user, sessions: ended.length } } as const;
  await recordAct(caller.acting, about, async () => {
    // Also ends a session that begins meanwhile.
    if (id === one.user) await services.sessions.endAll(id);
    await services.sessions.endListed(ended.map((session) => session.id));
  });
  return { ended: ended.length };
}

/** Ends another session of the caller, or all others, and records how many. @param chosen id; null: all others. @returns the number of ended sessions */
export async function endOtherSessions(
  services: AccessServices,
  acting: Acting,
  session: string,
  chosen: string | null,
): Promise<number> {
  const own = services.sessions.idOf(session);
  const others = (await listSessions(services, { acting, rights: OWN_ONLY })).filter(({ id }) => id !== own);
  const ids = others.map(({ id }) => id).filter((id) => chosen === null || id === chosen);
  if (ids.length === 0) return 0;
  const about = { verb: 'end-sessions', tenant: null, what: { user: acting.who.id, sessions: ids.length } } as const;
  await recordAct(acting, about, () => services.sessions.endListed(ids));
  return ids.length;
}

/** Rights of a list without sessions of others. */
export const OWN_ONLY: AccessRights = { level: 'viewer', tenants: new Set() };
