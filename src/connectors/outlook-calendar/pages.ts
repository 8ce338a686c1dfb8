import type { WireResponse } from '../wire.ts';
import { errors } from './errors.ts';
import { API_VERSION } from './limits.ts';
import { pageSchema } from './schemas.ts';

/** One page of a list, and the path of the next; null at the end. A page may be empty and not the last. */
export interface Page {
  elements: unknown[];
  next: string | null;
  /** At the end of a delta round, the path that tells what changes from now on. */
  delta: string | null;
}

/**
 * Reads a page of a list of events or calendars.
 * @throws MirrorError `contract` for what is no page
 */
export function readPage(answer: WireResponse): Page {
  const page = pageOf(answer);
  if (page === null) throw errors.make('unexpected-answer');
  return page;
}

/** The same; null for what is no page. */
export function pageOf(answer: WireResponse): Page | null {
  const page = pageSchema.safeParse(answer.body);
  if (!page.success) return null;
  const { value: elements, '@odata.nextLink': nextLink, '@odata.deltaLink': deltaLink } = page.data;
  if (nextLink === undefined) {
    return { elements, next: null, delta: deltaLink === undefined ? null : pathOfLink(deltaLink) };
  }
  const next = pathOfLink(nextLink);
  if (next === null) return null;
  return { elements, next, delta: null };
}

/** Only path and query of a link are followed: our login goes to no host that an answer names. */
function pathOfLink(link: string): string | null {
  if (!URL.canParse(link)) return null;
  const { pathname, search } = new URL(link);
  const version = `/${API_VERSION}/`;
  const start = pathname.indexOf(version);
  return start < 0 ? null : pathname.slice(start + version.length - 1) + search;
}
