import { escaped } from './xml.ts';

/** What the server answers. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

const NAMES = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"';
const XML = { 'content-type': 'application/xml; charset=utf-8' };

/** Returns a 207. @param end elements after the responses */
export function multistatus(responses: readonly string[], end = ''): Answer {
  const body = `<?xml version="1.0" encoding="utf-8"?><d:multistatus ${NAMES}>${responses.join('')}${end}</d:multistatus>`;
  return { status: 207, headers: XML, body };
}

/** Returns a response of a 207 with existing properties. */
export function found(href: string, properties: string): string {
  return `<d:response>${hrefElement(href)}<d:propstat><d:prop>${properties}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`;
}

/** Returns a response of a 207 with a status and no properties. */
export function withStatus(href: string, status: string, more = ''): string {
  return `<d:response>${hrefElement(href)}<d:status>HTTP/1.1 ${status}</d:status>${more}</d:response>`;
}

/** Returns the element that contains a path. */
export function hrefElement(href: string): string {
  return `<d:href>${escaped(href)}</d:href>`;
}

/** A refusal with a condition, such as `<c:no-uid-conflict/>`. */
export function refused(status: number, condition: string): Answer {
  return { status, headers: XML, body: `<d:error ${NAMES}>${condition}</d:error>` };
}

/** A refusal as Xandikos gives it: within a 207. */
export function refusedWithin207(href: string, condition: string): Answer {
  return multistatus([withStatus(href, '412 Precondition Failed', `<d:error>${condition}</d:error>`)]);
}

/** A web page. */
export function page(status: number, text: string): Answer {
  const body = `<!DOCTYPE html><html><head><title>${status}</title></head><body><h1>${text}</h1></body></html>`;
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body };
}
