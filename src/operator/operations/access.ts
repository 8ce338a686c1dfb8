import { z } from 'zod';
import { ACCESS_LEVELS, accessToken } from '../../core/model/acts.ts';
import { instant } from '../../core/model/schemas.ts';
import { NAME, NAME_REMEDY } from '../../core/model/text.ts';
import { issueText } from '../../messages/message.ts';
import { nameOf } from '../control/recording.ts';
import { operation } from './operation.ts';

const MOST_DAYS = 366;

const session = z.object({
  id: z.string(),
  user: z.string().describe('Permanent id of the user, as in the audit log'),
  name: z.string().describe('Display name'),
  browser: z.string().nullable().describe('Family of the browser; null: unknown'),
  network: z.string().nullable().describe('Shortened network of the client; null: unknown'),
  beganAt: instant,
  lastUsedAt: instant,
});

/** Operations on access to the pages and the API. Except for sessions, only an administrator of the host may run them. */
export const ACCESS_OPERATIONS = {
  makeSignInLink: operation({
    summary: 'show a sign-in URL for the owner; valid once',
    level: 'owner',
    input: z.strictObject({}),
    output: z.object({ url: z.string() }),
    http: null,
    commands: [{ words: 'access sign-in' }],
    audit: 'itself',
    async run(_, { services, acting }) {
      const { makeSignInLink } = await import('../control/access.ts');
      return makeSignInLink(acting, await services.access());
    },
  }),
  releaseAccount: operation({
    summary: 'allow the next verified account with this e-mail to sign in',
    level: 'owner',
    input: z.strictObject({ address: z.string() }),
    output: z.object({ address: z.string() }),
    http: null,
    commands: [{ words: 'access release-account <address>' }],
    // The e-mail address is personal data.
    audit: () => ({ verb: 'release-account', tenant: null }),
    async run({ address }, { services }) {
      const { releaseAccount } = await import('../control/access.ts');
      await releaseAccount(await services.access(), address);
      return { address };
    },
  }),
  createAccessToken: operation({
    summary: 'create an access token; the token is shown only once',
    level: 'owner',
    input: z.strictObject({
      name: z.string().regex(NAME, issueText(NAME_REMEDY)).describe('Name in lists and in the audit log'),
      level: z.enum(ACCESS_LEVELS).default('viewer').describe('Permission level; default: viewer'),
      tenants: z.array(z.string()).nullable().default(null).describe('Only these tenants; default: every tenant'),
      days: z
        .number()
        .int()
        .min(1)
        .max(MOST_DAYS)
        .default(90)
        .describe(`Validity in days, at most ${MOST_DAYS}; default: 90`),
    }),
    output: z.object({
      token: accessToken,
      shown: z.string().describe('The token, for the header `Authorization: Bearer`'),
    }),
    http: null,
    commands: [
      {
        words: 'access token create <name>',
        options: { tenants: { flags: '--tenant <tenant...>' }, days: { flags: '--days <days>' } },
      },
    ],
    async audit({ name, level, tenants, days }, { services }) {
      const configured = (await services.access()).tenants();
      const configuredIds = tenants?.filter((tenant) => configured.includes(tenant)).join(' ') ?? null;
      return { verb: 'access-token', tenant: null, what: { token: name, level, tenants: configuredIds, days } };
    },
    async run(wish, { services, acting }) {
      const { createAccessToken } = await import('../control/access.ts');
      return createAccessToken(await services.access(), wish, nameOf(acting.who));
    },
  }),
  listAccessTokens: operation({
    summary: 'list valid tokens, without their values',
    level: 'owner',
    input: z.strictObject({}),
    output: z.object({ tokens: z.array(accessToken) }),
    http: null,
    commands: [{ words: 'access token list' }],
    run: async (_, { services }) => ({ tokens: await (await services.access()).tokens.list() }),
  }),
  revokeAccessToken: operation({
    summary: 'revoke a token immediately',
    level: 'owner',
    input: z.strictObject({ name: z.string() }),
    output: z.object({ name: z.string() }),
    http: null,
    commands: [{ words: 'access token revoke <name>' }],
    async audit({ name }, { services }) {
      const isFound = (await (await services.access()).tokens.list()).some((each) => each.name === name);
      return { verb: 'revoke-access-token', tenant: null, what: { token: isFound ? name : null } };
    },
    async run({ name }, { services }) {
      const { revokeAccessToken } = await import('../control/access.ts');
      await revokeAccessToken(await services.access(), name);
      return { name };
    },
  }),
  listSessions: operation({
    summary:
      'list the open sessions of your account, newest first; for an owner of all tenants, the open sessions of all users',
    level: 'viewer',
    input: z.strictObject({}),
    output: z.object({ sessions: z.array(session) }),
    http: { method: 'GET', path: '/sessions' },
    commands: [{ words: 'sessions list', isDefault: true }],
    async run(_, { services, ...caller }) {
      const { listSessions } = await import('../control/sessions.ts');
      return { sessions: await listSessions(await services.access(), caller) };
    },
  }),
  endSessions: operation({
    summary: 'end one open session, or all open sessions of a user',
    level: 'viewer',
    input: z.strictObject({
      id: z.string().describe('Id of a session, or of a user, as the list of sessions shows it'),
    }),
    output: z.object({ ended: z.int() }),
    http: { method: 'POST', path: '/sessions/end' },
    commands: [{ words: 'sessions end <id>' }],
    audit: 'itself',
    async run({ id }, { services, ...caller }) {
      const { endSessions } = await import('../control/sessions.ts');
      return endSessions(await services.access(), caller, id);
    },
  }),
};
