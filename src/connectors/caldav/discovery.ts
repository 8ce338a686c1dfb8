import { MirrorError } from '../../model/errors.ts';
import { asCollection, resolveHref } from './addresses.ts';
import { errors } from './errors.ts';
import { type DavSession, isMultistatus } from './webdav.ts';
import { CALDAV, child, DAV, NAMESPACES } from './xml.ts';

/**
 * Finds the login's calendar home: the current user's principal, then its
 * homes, of which the first is taken.
 * @throws MirrorError `settings`, code `discovery-failed`
 * @see RFC 6764 section 6
 * @see RFC 4791 section 6.2.1
 */
export async function discoverHome(session: DavSession, base: URL, signal: AbortSignal): Promise<URL> {
  const wellKnown = new URL('/.well-known/caldav', base);
  const starts = base.pathname === '/' ? [wellKnown, base] : [base, wellKnown];
  for (const start of starts) {
    const home = await homeFrom(session, start, signal);
    if (home !== null) return home;
  }
  throw errors.make('discovery-failed');
}

async function homeFrom(session: DavSession, start: URL, signal: AbortSignal): Promise<URL | null> {
  const first = await principalOf(session, start, signal);
  if (first === null || first.home !== null) return first?.home ?? null;
  return first.principal === null ? null : ((await principalOf(session, first.principal, signal))?.home ?? null);
}

interface PrincipalLinks {
  principal: URL | null;
  home: URL | null;
}

async function principalOf(session: DavSession, url: URL, signal: AbortSignal): Promise<PrincipalLinks | null> {
  const body = `<D:propfind ${NAMESPACES}><D:prop><D:current-user-principal/><C:calendar-home-set/></D:prop></D:propfind>`;
  const request = { method: 'PROPFIND', url, headers: { depth: '0' }, body } as const;
  const answer = await session.ask(request, signal).catch(ignoreWebPage);
  if (answer === null || !isMultistatus(answer)) return null;
  const link = (name: string) => {
    const href = answer.members
      .map(({ properties }) => child(properties.get(name), `${DAV}href`)?.text.trim())
      .find((text) => text !== undefined && text !== '');
    return href === undefined ? null : resolveHref(answer.url, href);
  };
  const home = link(`${CALDAV}calendar-home-set`);
  return { principal: link(`${DAV}current-user-principal`), home: home === null ? null : asCollection(home) };
}

/** Many servers show a web page at their root; discovery then goes on elsewhere. */
function ignoreWebPage(error: unknown): null {
  if (error instanceof MirrorError && ['not-a-caldav-answer', 'bad-xml', 'server-error'].includes(error.code))
    return null;
  throw error;
}
