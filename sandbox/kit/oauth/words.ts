/** A refusal in a vendor's words (RFC 6749 section 5.2). */
export interface Words {
  error: string;
  description: string;
  /** Default: 400. */
  status?: number;
  /** The vendor's code for the error body, in addition to `error`. */
  code?: string | number;
  suberror?: string;
}

/** Words, written shortly. */
export function words(error: string, description: string, more: Omit<Words, 'error' | 'description'> = {}): Words {
  return { error, description, ...more };
}

type Required =
  | 'clientUnknown'
  | 'secretWrong'
  | 'redirectUnknown'
  | 'scopeUnknown'
  | 'challengeMethod'
  /** The sign-in page was already answered, or never shown. */
  | 'requestOver'
  /** Never given, used or too old. */
  | 'codeUnknown'
  | 'codeRedirect'
  | 'codeVerifier'
  | 'refreshUnknown'
  | 'grantType';

/** If a vendor has no error for a key, the vendor uses the error of the value. */
const SAME_AS = {
  /** A public client sent credentials. */
  clientPublic: 'secretWrong',
  secretMissing: 'secretWrong',
  challengeMissing: 'challengeMethod',
  /** The code is another client's. */
  codeForeign: 'codeUnknown',
  refreshExpired: 'refreshUnknown',
} as const satisfies Record<string, Required>;

/** Where a vendor has no words for one of these, it does not refuse it. */
type Unasked =
  | 'responseType'
  /** `prompt=none`. */
  | 'personNeeded'
  /** A refresh requests more than the grant allows. */
  | 'scopeWider'
  | 'deviceUnknown'
  | 'deviceExpired'
  | 'devicePending'
  | 'deviceDeclined';

/** Why the kit refuses. */
export type Refusal = Required | keyof typeof SAME_AS | Unasked;

/** What a vendor says to each refusal. */
export type VendorWords = Record<Required, Words> & Partial<Record<Refusal, Words>>;

/** The vendor's words for a refusal; undefined where it does not refuse. */
export function wordsFor(vendor: VendorWords, refusal: Refusal): Words | undefined {
  return vendor[refusal] ?? (refusal in SAME_AS ? vendor[SAME_AS[refusal as keyof typeof SAME_AS]] : undefined);
}

/** An error answer of the OAuth endpoints. */
export class OAuthError extends Error {
  readonly words: Words;

  constructor(said: Words) {
    super(said.description);
    this.name = 'OAuthError';
    this.words = said;
  }
}

/** A refusal that goes back to the client by redirect (RFC 6749 section 4.1.2.1). */
export class RedirectError extends Error {
  readonly location: string;

  constructor(location: string) {
    super('the authorization request is refused');
    this.name = 'RedirectError';
    this.location = location;
  }
}

/** The error for a refusal. Throws Error where the vendor has no words for it. */
export function refusalOf(vendor: VendorWords, refusal: Refusal): OAuthError {
  const said = wordsFor(vendor, refusal);
  if (said === undefined) throw new Error(`The vendor has no words for ${refusal}`);
  return new OAuthError(said);
}
