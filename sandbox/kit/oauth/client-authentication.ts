import { readJwt } from './jwt.ts';
import type { Client, Grant, OAuthVendor, TokenRequest } from './vendor.ts';
import { refusalOf } from './words.ts';

/** The client of an id. Throws OAuthError. */
export function findClient<C extends Client, G extends Grant>(vendor: OAuthVendor<C, G>, clientId: string | null): C {
  const client = vendor.clients.find((known) => known.clientId === clientId);
  if (!client) throw refusalOf(vendor.words, 'clientUnknown');
  return client;
}

/**
 * The client behind a request: by its secret, in the form or by Basic (RFC 6749 section 2.3.1), or by an assertion (RFC 7523 section 2.2).
 * A public one must send neither. Throws OAuthError.
 */
export function authenticateClient<C extends Client, G extends Grant>(
  vendor: OAuthVendor<C, G>,
  request: TokenRequest,
): C {
  const { words, clientAssertion } = vendor;
  const { form } = request;
  const basic = vendor.clientBy.includes('basic') ? readBasic(request.authorization) : undefined;
  const assertion = clientAssertion && form.get('client_assertion');
  const jwt = assertion ? readJwt(assertion) : undefined;
  const client = findClient(vendor, basic?.id ?? form.get('client_id') ?? String(jwt?.claims.sub ?? ''));
  const secret = basic?.secret ?? form.get('client_secret') ?? undefined;
  const mayAssert = clientAssertion?.isFor(client) ?? false;
  if (client.clientSecret === undefined && !mayAssert) {
    if (secret !== undefined || assertion) throw refusalOf(words, 'clientPublic');
  } else if (assertion) {
    clientAssertion?.check(client, jwt, request);
  } else if (secret === undefined) {
    throw refusalOf(words, 'secretMissing');
  } else if (secret !== client.clientSecret) {
    throw refusalOf(words, 'secretWrong');
  }
  return client;
}

function readBasic(authorization: string | undefined): { id: string; secret: string } | undefined {
  const encoded = /^Basic (\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString().split(':').map(decodeURIComponent);
  return { id, secret };
}
