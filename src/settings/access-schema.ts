import { z } from 'zod';
import { ACCESS_LEVELS, ACT_VERBS } from '../core/model/acts.ts';
import { issueText, message } from '../messages/message.ts';
import { address, baseAddress, name, text, wholeNumber } from './common-schemas.ts';
import { optionalClientSecret } from './crm-clients.ts';
import type { SecretSchemas } from './secret-reference.ts';

const rights = {
  level: z
    .enum(ACCESS_LEVELS)
    .describe(
      '`viewer` can read. `operator` can also decide, sync and connect. `owner` can also run irreversible actions.',
    ),
  tenants: z
    .array(name)
    .min(1)
    .optional()
    .meta({
      description: 'Ids of the tenants that the rule covers. Without a value the rule covers all tenants.',
      examples: [['aurora']],
    }),
};

const person = z
  .strictObject({
    email: z
      .email(issueText(message('bad-address.email')))
      .optional()
      .meta({ description: 'E-mail address that the provider has verified.', examples: ['anna@practice.example'] }),
    subject: text.optional().describe("The provider's id of the user (claim `sub`)."),
    ...rights,
  })
  .refine(
    ({ email, subject }) => (email === undefined) !== (subject === undefined),
    issueText(message('settings.email-or-subject')),
  );

const group = z.strictObject({
  value: text.meta({ description: 'Value of `groupsClaim` that the rule applies to.', examples: ['clinic-admins'] }),
  ...rights,
});

/** @see https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims (`email` and `profile` add e-mail address and name) */
function oidcSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      issuer: address.meta({
        description: "URL of the provider, exactly equal to `issuer` in the provider's discovery document.",
        examples: ['https://accounts.google.com'],
      }),
      clientId: text.meta({
        description: 'Client id of the registration. The redirect URL is `<publicUrl>/sign-in/callback`.',
        examples: ['1234567890-abc.apps.googleusercontent.com'],
      }),
      clientSecret: optionalClientSecret(secrets),
      scopes: z
        .array(text)
        .default(['openid', 'email', 'profile'])
        .refine((scopes) => scopes.includes('openid'), issueText(message('settings.openid')))
        .describe('Scopes of the sign-in request.'),
      acrValues: z
        .array(text)
        .default([])
        .meta({
          description:
            'Requests one of these authentication levels (`acr_values`), and refuses an id_token with another `acr`. Empty: any.',
          examples: [['urn:example:mfa']],
        }),
      amr: z
        .array(text)
        .default([])
        .meta({
          description: 'Refuses an id_token whose claim `amr` does not contain all of these methods (RFC 8176).',
          examples: [['mfa']],
        }),
      maxAgeMinutes: wholeNumber(1, 10_080)
        .optional()
        .describe(
          'Requests a sign-in with the provider within these minutes (`max_age`), and refuses an id_token with an older `auth_time`, or without it. Without a value any age is allowed.',
        ),
      groupsClaim: text.default('groups').describe("Claim of the id_token that contains the user's groups."),
      people: z
        .array(person)
        .default([])
        .describe('Users with access. The first matching rule applies; rules for people precede rules for groups.'),
      groups: z.array(group).default([]).describe('Groups with access. Users without a matching rule have no access.'),
    })
    .refine(({ people, groups }) => people.length + groups.length > 0, issueText(message('settings.no-visitors')));
}

/** Longest configurable lifetime of a session. */
const LONGEST_SESSION_HOURS = 168;

/** A lower limit would block a user who opens one page with its assets. */
const FEWEST_REQUESTS = 30;
const MOST_REQUESTS = 1_000_000;

function perMinute(usual: number) {
  return wholeNumber(FEWEST_REQUESTS, MOST_REQUESTS).default(usual);
}

/** Access to pages and API of the operators' port; without this section neither exists. */
export function accessSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      oidc: oidcSection(secrets).optional().describe('Sign-in of administrators through an OpenID provider.'),
      passphrase: z
        .boolean()
        .optional()
        .describe(
          'Allows an owner to sign in with a passphrase. The owner sets the passphrase through the URL that the daemon prints at the first start. Default: `true` without `oidc`.',
        ),
      sessionHours: wholeNumber(1, LONGEST_SESSION_HOURS)
        .default(12)
        .describe('Maximum length of a session, in hours.'),
      idleMinutes: wholeNumber(5, 1_440)
        .default(60)
        .describe('Minutes without activity after which a session expires.'),
      reauthenticateAfterMinutes: wholeNumber(1, 1_440)
        .default(15)
        .describe(
          'Minutes after a sign-in within which a user can do sensitive actions: add, change or remove tenants, forget, back up, restore, approve where two people must approve. Later the user must sign in again.',
        ),
      requestsPerMinute: z
        .strictObject({
          token: perMinute(1_200).describe('Limit for a program with an access token.'),
          session: perMinute(600).describe('Limit for one session of a user, across all browser tabs.'),
          address: perMinute(120).describe('Limit for one IP address without a session.'),
        })
        .prefault({})
        .describe(
          'Rate limits for pages and API, for all processes together. The daemon answers further requests with 429.',
        ),
    })
    .transform(({ passphrase, ...others }) => ({ ...others, passphrase: passphrase ?? others.oidc === undefined }));
}

/** Session cookies require a safe URL. A path is not possible, because page paths begin at the host. */
export const operatorUrl = baseAddress.refine(
  (url) => /^(https:\/\/|http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|$))[^/]*$/.test(url),
  issueText(message('settings.url-host')),
);

/** Configured access. */
export type AccessSettings = z.output<ReturnType<typeof accessSection>>;
/** OpenID provider of administrators. */
export type OidcSettings = NonNullable<AccessSettings['oidc']>;

const holdsAbove = wholeNumber(0)
  .optional()
  .meta({
    description:
      'Number of changes in a hold above which two people must approve. Without a value one approval is enough.',
    examples: [50],
  });

/** The audit log in `dataDirectory`. */
export const auditLog = z
  .strictObject({
    keepMonths: wholeNumber(1, 1_200)
      .default(60)
      .describe('Minimum number of months for which audit log records are kept.'),
    reasonFor: z
      .array(z.enum(ACT_VERBS))
      .default([])
      .meta({ description: 'Actions that require a reason (`--reason`).', examples: [['forget', 'approve']] }),
  })
  .prefault({});

/** Actions that require two approvers. */
export const approvals = z
  .strictObject({
    holdsAbove,
    forget: z.boolean().default(false).describe('Requires a second operator to forget a patient.'),
    restore: z.boolean().default(false).describe('Requires a second operator to restore a backup.'),
    configuration: z
      .boolean()
      .default(false)
      .describe('Requires a second operator to add, change or remove a managed tenant.'),
    expireAfterHours: wholeNumber(1, 720).default(24).describe('Hours within which the second operator must approve.'),
    persons: z
      .enum(['system', 'named'])
      .default('system')
      .describe(
        'How clinic-mirror identifies people. `system`: the user account on the host. `named`: the name given with `--as`, which clinic-mirror does not verify; use `named` in containers, where every operator has the same user account.',
      ),
  })
  .prefault({});

/** Approval rules of a tenant. A tenant can be stricter than the settings, never looser. */
export const tenantApprovals = z.strictObject({
  holdsAbove,
  forget: z.literal(true).optional().describe('Requires a second operator to forget a patient of this tenant.'),
  restore: z.literal(true).optional().describe('Requires a second operator to restore a backup of this tenant.'),
  configuration: z
    .literal(true)
    .optional()
    .describe('Requires a second operator to change or remove this tenant, if the tenant is managed.'),
});

/** Approval rules, and the lifetime of a first approval. */
export type ApprovalSettings = z.output<typeof approvals>;

/** Combines both rules, the stricter value of each. */
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

/** Reads approval rules from a document that can contain faults. */
const documentApprovals = z
  .object({ approvals: tenantApprovals.partial().catch({}).default({}) })
  .catch({ approvals: {} });

/** Decides whether a document requires a second operator for any command. */
export function hasApprovals(document: unknown): boolean {
  const { configuration, forget, restore, holdsAbove } = documentApprovals.parse(document).approvals;
  return configuration === true || forget === true || restore === true || holdsAbove !== undefined;
}

/** Returns the stricter of both rules, for a tenant document that can contain faults. */
export function approvalsWith(all: ApprovalSettings, document: unknown): ApprovalSettings {
  return strictestApprovals(all, documentApprovals.parse(document).approvals);
}

/** Decides whether the next document allows a single approver more than the previous one. @param next null for a removal */
export function loosensApprovals(before: unknown, next: unknown): boolean {
  const [{ approvals: earlier }, { approvals: later }] = [
    documentApprovals.parse(before),
    documentApprovals.parse(next),
  ];
  const isOff = (['forget', 'restore', 'configuration'] as const).some((rule) => earlier[rule] && !later[rule]);
  if (isOff || earlier.holdsAbove === undefined) return isOff;
  return later.holdsAbove === undefined || later.holdsAbove > earlier.holdsAbove;
}
