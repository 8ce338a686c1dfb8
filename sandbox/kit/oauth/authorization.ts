import { createHash, randomBytes } from 'node:crypto';
import { findClient } from './client-authentication.ts';
import { newToken } from './token-store.ts';
import type { Client, Grant, OAuthVendor, PendingRequest, Place } from './vendor.ts';
import { OAuthError, RedirectError, type Refusal, refusalOf, wordsFor } from './words.ts';

/** A code and what it stands for until it is redeemed. `expiresAt` is epoch ms. */
interface Code<C extends Client, G extends Grant> {
  grant: G;
  pending: PendingRequest<C>;
  expiresAt: number;
}

/** Unfinished sign-ins: requests that wait for a user, and codes. */
export class Authorization<C extends Client, G extends Grant> {
  readonly #vendor: OAuthVendor<C, G>;
  readonly #pending = new Map<string, PendingRequest<C>>();
  readonly #codes = new Map<string, Code<C, G>>();

  constructor(vendor: OAuthVendor<C, G>) {
    this.#vendor = vendor;
  }

  /** Checks an authorization request. Throws OAuthError when it must not redirect, RedirectError when it may. */
  begin(query: URLSearchParams, place: Place): PendingRequest<C> {
    const { login, words } = this.#vendor;
    const client = findClient(this.#vendor, query.get('client_id'));
    const redirectUri = query.get('redirect_uri') ?? '';
    const isLoopback = login.allowsLoopback(client) && isPlainLoopback(redirectUri);
    if (!isLoopback && !client.redirectUris.includes(redirectUri)) throw refusalOf(words, 'redirectUnknown');
    const back = { redirectUri, state: query.get('state') ?? undefined };
    const refuse = (refusal: Refusal): Error => this.#refuse(refusal, back, place);
    if (wordsFor(words, 'responseType') && query.get('response_type') !== 'code') throw refuse('responseType');
    const scopes = login.scopesOf(query, client);
    if (!scopes) throw refuse('scopeUnknown');
    const codeChallenge = query.get('code_challenge') ?? undefined;
    if (codeChallenge === undefined && login.needsChallenge(client)) throw refuse('challengeMissing');
    if (!this.#isMethodKnown(query)) throw refuse('challengeMethod');
    if (wordsFor(words, 'personNeeded') && query.get('prompt') === 'none') throw refuse('personNeeded');
    const id = randomBytes(16).toString('base64url');
    const pending = { id, client, scopes, codeChallenge, query, ...back };
    this.#pending.set(id, pending);
    return pending;
  }

  /** The person's answer to a waiting request, once. Returns where the browser goes. Throws OAuthError when the request is over. */
  answer(form: URLSearchParams, place: Place): string {
    const { login, words, now } = this.#vendor;
    const pending = this.#pending.get(form.get('request') ?? '');
    if (!pending) throw refusalOf(words, 'requestOver');
    this.#pending.delete(pending.id);
    const account = form.get('account') ?? '';
    const isAllowed = form.get('answer') === 'allow' && account !== '';
    const grant = isAllowed ? login.agree(pending, account, form.getAll('scope')) : undefined;
    if (!grant) return this.#redirect(pending, login.denied, place);
    const code = newToken(login.code);
    this.#codes.set(code, { grant, pending, expiresAt: now() + login.code.lifetimeMs });
    return this.#redirect(pending, { code }, place);
  }

  /** Redeems a code, once, for its client with the right redirect URI and verifier. Throws OAuthError. */
  redeem(form: URLSearchParams, client: C): Pick<Code<C, G>, 'grant' | 'pending'> {
    const { words, now } = this.#vendor;
    const code = form.get('code') ?? '';
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    if (!found || found.expiresAt <= now()) throw refusalOf(words, 'codeUnknown');
    const { redirectUri, codeChallenge } = found.pending;
    if (found.pending.client.clientId !== client.clientId) throw refusalOf(words, 'codeForeign');
    if ((form.get('redirect_uri') ?? '') !== redirectUri) throw refusalOf(words, 'codeRedirect');
    if (codeChallenge !== undefined && codeChallenge !== s256(form.get('code_verifier') ?? '')) {
      throw refusalOf(words, 'codeVerifier');
    }
    return found;
  }

  #isMethodKnown(query: URLSearchParams): boolean {
    const method = query.get('code_challenge_method');
    const isChallenged = query.has('code_challenge') && !this.#vendor.login.assumesS256;
    return method === 'S256' || (method === null && !isChallenged);
  }

  #refuse(refusal: Refusal, back: Pick<PendingRequest<C>, 'redirectUri' | 'state'>, place: Place): Error {
    const { login, words, describe } = this.#vendor;
    const { words: said } = refusalOf(words, refusal);
    if (login.errorPage) return new OAuthError(said);
    const fields = { error: said.error, error_description: describe?.(said) ?? said.description };
    return new RedirectError(this.#redirect(back, fields, place));
  }

  #redirect(
    { redirectUri, state }: Pick<PendingRequest<C>, 'redirectUri' | 'state'>,
    fields: Record<string, string>,
    { issuer }: Place,
  ): string {
    const url = new URL(redirectUri);
    for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
    if (this.#vendor.login.tellsIssuer) url.searchParams.set('iss', issuer);
    if (state !== undefined) url.searchParams.set('state', state);
    return url.href;
  }
}

function isPlainLoopback(redirectUri: string): boolean {
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
  return url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
}

/** RFC 7636 section 4.2. */
function s256(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}
