/** Name of an HTTP field (RFC 9110 section 5.6.2). */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Fields that belong to the transport, to the body or to proxies: fields of one connection (RFC 9110 section 7.6.1), framing, routing and
 * the sender's address. No configuration sets them.
 */
const OF_TRANSPORT =
  /^(connection|content-.*|cookie2?|expect|forwarded|host|http2-settings|keep-alive|max-forwards|proxy-.*|sec-.*|te|trailer|transfer-encoding|upgrade|via|x-forwarded-.*|x-real-ip)$/i;

/** Returns whether a configured header would change the transport of a request. */
export function isTransportHeader(name: string): boolean {
  return OF_TRANSPORT.test(name);
}
