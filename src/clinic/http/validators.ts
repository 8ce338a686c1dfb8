import { COUNT_HEADERS } from './more-told.ts';

/** RFC 9110 section 8.8.3. */
const ETAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;
/** A longer one would be sent with every request. */
const LONGEST_ETAG = 512;
/** What paging reads of an answer's headers. */
const PAGING_HEADERS = ['link', ...COUNT_HEADERS];

/**
 * The ETag of an answer by which the clinic may be asked next time whether it is what it was, strong or weak; null where there is none, or
 * the answer comes out of a cache, or depends on more than what we send (`Vary: *`). `Last-Modified` is none: it counts seconds, so a
 * second change within one goes unseen (RFC 9110 section 8.8.2.2), and the newest change of a list's rows stays when a row is taken out.
 */
export function usableEtag(headers: Headers): string | null {
  const etag = headers.get('etag');
  if (etag === null || etag.length > LONGEST_ETAG || !ETAG.test(etag)) return null;
  return isFromCache(headers) || headers.get('vary')?.includes('*') === true ? null : etag;
}

/** Whether somebody between the clinic and here answered by what they had. */
export function isFromCache(headers: Headers): boolean {
  return Number(headers.get('age') ?? 0) > 0;
}

/** The weak comparison of RFC 9110 section 8.8.3.2, which If-None-Match is made by. */
export function isSameEtag(one: string, other: string): boolean {
  return one.replace(/^W\//, '') === other.replace(/^W\//, '');
}

/**
 * The headers by which a list pages.
 * @param more names of those that the profile reads beside the usual ones
 * @param before of the answer that is not modified: what it told and is not told again stands
 */
export function pagingHeadersOf(headers: Headers, more: readonly string[], before?: Headers): Headers {
  const names = new Set([...PAGING_HEADERS, ...more]);
  const told = [...names].map((name) => [name, headers.get(name) ?? before?.get(name) ?? null] as const);
  return new Headers(told.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}
