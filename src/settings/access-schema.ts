import { z } from 'zod';
import { ACCESS_LEVELS } from '../model/acts.ts';
import { address, baseAddress, name, text, wholeNumber } from './common-schemas.ts';
import type { SecretSchemas } from './secret-reference.ts';

const rights = {
  level: z
    .enum(ACCESS_LEVELS)
    .describe('viewer looks; operator decides, syncs and connects too; owner does what can not be taken back too'),
  tenants: z.array(name).min(1).optional().describe('These tenants alone, by their ids; without it all'),
};

const person = z
  .strictObject({
    email: z.email('give an e-mail address').optional().describe('By an address that the provider has verified'),
    subject: text.optional().describe("By the provider's own id of the person (the claim sub)"),
    ...rights,
  })
  .refine(
    ({ email, subject }) => (email === undefined) !== (subject === undefined),
    'give email or subject, one of them',
  );

const group = z.strictObject({
  value: text.describe('Whoever has this value in groupsClaim'),
  ...rights,
});

/** @see https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims (`email` and `profile` bring address and name) */
function oidcSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      issuer: address.describe('Address of the provider, exactly as its discovery document names it'),
      clientId: text.describe('Id of the registration; it comes back to <publicUrl>/sign-in/callback'),
      clientSecret: secrets.text.optional().describe('For a registration that was given one'),
      scopes: z
        .array(text)
        .default(['openid', 'email', 'profile'])
        .refine((scopes) => scopes.includes('openid'), 'openid must be one of them')
        .describe('What is asked for. Default: openid, email, profile'),
      groupsClaim: text.default('groups').describe('Claim of the id_token that holds the values of groups'),
      people: z
        .array(person)
        .default([])
        .describe('Who gets in; of rules that fit, the first counts, people before groups'),
      groups: z.array(group).default([]).describe('Who else gets in. Nobody without a rule does'),
    })
    .refine(
      ({ people, groups }) => people.length + groups.length > 0,
      'name somebody in people or groups: nobody else gets in',
    );
}

/** Longest absolute life of a session that can be chosen. */
const LONGEST_SESSION_HOURS = 168;

/** Fewer would keep out who opens a page and what it loads. */
const FEWEST_REQUESTS = 30;
const MOST_REQUESTS = 1_000_000;

function perMinute(usual: number) {
  return wholeNumber(FEWEST_REQUESTS, MOST_REQUESTS).default(usual);
}

/** Who may look at the pages, and call the API, of the port for operators; without it there is neither. */
export function accessSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      oidc: oidcSection(secrets).optional().describe('Administrators sign in at an OpenID provider'),
      passphrase: z
        .boolean()
        .optional()
        .describe(
          'An owner signs in with a passphrase, set with the address that the daemon shows at its first start. Default: without oidc',
        ),
      sessionHours: wholeNumber(1, LONGEST_SESSION_HOURS)
        .default(12)
        .describe('Who signed in does so again after this'),
      idleMinutes: wholeNumber(5, 1_440).default(60).describe('And after this time without looking'),
      requestsPerMinute: z
        .strictObject({
          token: perMinute(1_200).describe('Of a program that shows a token'),
          session: perMinute(600).describe('Of one sign-in of a person, in all of its tabs'),
          address: perMinute(120).describe('Of whoever is not signed in, by the address they come from'),
        })
        .prefault({})
        .describe('More requests for pages and of the API are answered 429, by all processes together'),
    })
    .transform(({ passphrase, ...others }) => ({ ...others, passphrase: passphrase ?? others.oidc === undefined }));
}

/** Cookies that open everything travel there; a path would not fit pages, whose addresses begin at the host. */
export const operatorUrl = baseAddress.refine(
  (url) => /^(https:\/\/|http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|$))[^/]*$/.test(url),
  'give an https:// address without a path (http:// only on this machine)',
);

/** Who may look and act, as configured. */
export type AccessSettings = z.output<ReturnType<typeof accessSection>>;
/** An OpenID provider of administrators. */
export type OidcSettings = NonNullable<AccessSettings['oidc']>;
