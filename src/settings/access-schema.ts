import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { ACCESS_LEVELS, ACT_VERBS } from '../model/acts.ts';
import { address, baseAddress, name, text, wholeNumber } from './common-schemas.ts';
import { optionalClientSecret } from './crm-clients.ts';
import type { SecretSchemas } from './secret-reference.ts';

const rights = {
  level: z
    .enum(ACCESS_LEVELS)
    .describe('viewer looks; operator decides, syncs and connects too; owner does what can not be taken back too'),
  tenants: z.array(name).min(1).optional().describe('These tenants alone, by their ids; without it all'),
};

const person = z
  .strictObject({
    email: z
      .email(issueText(message('bad-address.email')))
      .optional()
      .describe('By an address that the provider has verified'),
    subject: text.optional().describe("By the provider's own id of the person (the claim sub)"),
    ...rights,
  })
  .refine(
    ({ email, subject }) => (email === undefined) !== (subject === undefined),
    issueText(message('settings.email-or-subject')),
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
      clientSecret: optionalClientSecret(secrets),
      scopes: z
        .array(text)
        .default(['openid', 'email', 'profile'])
        .refine((scopes) => scopes.includes('openid'), issueText(message('settings.openid')))
        .describe('What is asked for. Default: openid, email, profile'),
      groupsClaim: text.default('groups').describe('Claim of the id_token that holds the values of groups'),
      people: z
        .array(person)
        .default([])
        .describe('Who gets in; of rules that fit, the first counts, people before groups'),
      groups: z.array(group).default([]).describe('Who else gets in. Nobody without a rule does'),
    })
    .refine(({ people, groups }) => people.length + groups.length > 0, issueText(message('settings.no-visitors')));
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
  issueText(message('settings.url-host')),
);

/** Who may look and act, as configured. */
export type AccessSettings = z.output<ReturnType<typeof accessSection>>;
/** An OpenID provider of administrators. */
export type OidcSettings = NonNullable<AccessSettings['oidc']>;

const holdsAbove = wholeNumber(0)
  .optional()
  .describe('A hold of more items than this is approved by two persons; without it one is enough');

/** The log of what persons do, in `dataDirectory`. */
export const auditLog = z
  .strictObject({
    keepMonths: wholeNumber(1, 1_200).default(60).describe('How long entries are kept, at least'),
    reasonFor: z
      .array(z.enum(ACT_VERBS))
      .default([])
      .describe('What is done only with a reason (`--reason`), by the words of the audit log'),
  })
  .prefault({});

/** What two persons have to want. */
export const approvals = z
  .strictObject({
    holdsAbove,
    forget: z.boolean().default(false).describe('Forgetting a patient needs a second person'),
    restore: z.boolean().default(false).describe('Restoring a backup needs a second person'),
    configuration: z
      .boolean()
      .default(false)
      .describe('Adding, changing and removing a managed tenant needs a second person'),
    expireAfterHours: wholeNumber(1, 720).default(24).describe('The second person has this long'),
    persons: z
      .enum(['system', 'named'])
      .default('system')
      .describe(
        'What tells persons apart: the login at the machine, or the name that they give (`--as`), which nobody checks; for containers, where all are one user',
      ),
  })
  .prefault({});

/** A tenant's own, beside those of the settings: it can ask for more, never for less. */
export const tenantApprovals = z.strictObject({
  holdsAbove,
  forget: z.literal(true).optional().describe('Forgetting a patient of this clinic needs a second person'),
  restore: z.literal(true).optional().describe('Restoring a backup of this clinic needs a second person'),
  configuration: z
    .literal(true)
    .optional()
    .describe('Changing and removing this clinic, where it is managed, needs a second person'),
});

/** What two persons have to want, and for how long the first is remembered. */
export type ApprovalSettings = z.output<typeof approvals>;

/** The stricter of both, one by one. */
export function strictestApprovals(
  all: ApprovalSettings,
  own: z.output<typeof tenantApprovals> | undefined,
): ApprovalSettings {
  const limits = [all.holdsAbove, own?.holdsAbove].filter((limit) => limit !== undefined);
  return {
    ...all,
    holdsAbove: limits.length === 0 ? undefined : Math.min(...limits),
    forget: all.forget || own?.forget === true,
    restore: all.restore || own?.restore === true,
    configuration: all.configuration || own?.configuration === true,
  };
}

/** A tenant's own rules for two persons, as far as a document that may have faults tells them. */
const documentApprovals = z
  .object({ approvals: tenantApprovals.partial().catch({}).default({}) })
  .catch({ approvals: {} });

/** The stricter of both, where a tenant's own rules stand in a document of it, which may have faults. */
export function approvalsWith(all: ApprovalSettings, document: unknown): ApprovalSettings {
  return strictestApprovals(all, documentApprovals.parse(document).approvals);
}

/** Whether one person alone could do more under the next document of a tenant than under the one before. @param next null: it is removed */
export function loosensApprovals(before: unknown, next: unknown): boolean {
  const [{ approvals: earlier }, { approvals: later }] = [
    documentApprovals.parse(before),
    documentApprovals.parse(next),
  ];
  const isOff = (['forget', 'restore', 'configuration'] as const).some((rule) => earlier[rule] && !later[rule]);
  if (isOff || earlier.holdsAbove === undefined) return isOff;
  return later.holdsAbove === undefined || later.holdsAbove > earlier.holdsAbove;
}
