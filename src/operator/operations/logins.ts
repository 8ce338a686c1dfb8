import { z } from 'zod';
import { type ActFacts, type ActVerb, loginLink } from '../../core/model/acts.ts';
import { id, instant, tenant } from '../../core/model/schemas.ts';
import { nameOf } from '../control/recording.ts';
import { type OperationContext, operation } from './operation.ts';

const ofConnection = z.strictObject({
  tenant,
  connection: id.describe('Id of a connection; `clinic` for the connection to the clinic'),
});
const ofConnectionOrClinic = ofConnection.extend({ connection: id.default('clinic') });

/** Records an act on a configured connection. */
async function about(
  verb: ActVerb,
  { tenant, connection }: z.output<typeof ofConnection>,
  { services }: OperationContext,
  what: ActFacts = {},
) {
  (await services.logins()).target(tenant, connection);
  return { verb, tenant, what: { connection, ...what } };
}

/** Operations on connections, except those that an operator makes in a terminal. */
export const LOGIN_OPERATIONS = {
  makeLoginLink: operation({
    summary: 'create a link that connects an account; valid once',
    level: 'operator',
    input: ofConnection.extend({
      hours: z.number().nullable().default(null).describe('Validity in hours, at most 168; null: ten minutes'),
    }),
    output: z.object({
      tenant: z.string(),
      connection: z.string(),
      url: z.string(),
      link: z.string().describe('Id of the link'),
      endsAt: instant,
    }),
    http: { method: 'POST', path: '/tenants/{tenant}/connections/{connection}/login-link' },
    // The CLI runs this operation as `login --link`.
    commands: [],
    audit: ({ hours, ...login }, context) => about('login-link', login, context, { hours }),
    async run({ tenant, connection, hours }, { services, acting }) {
      const { beginRemoteLogin } = await import('../control/logins.ts');
      const by = nameOf(acting.who);
      const { id, ...made } = await beginRemoteLogin(await services.logins(), { tenant, connection }, by, hours);
      return { tenant, connection, link: id, ...made };
    },
    auditResult: ({ link }) => ({ link }),
  }),
  acceptAccount: operation({
    summary: 'confirm the account of a connection; pending work starts',
    level: 'operator',
    input: ofConnection.extend({
      account: z.string().describe('Account id or e-mail address, from status or the list of connections'),
    }),
    output: z.object({ tenant: z.string(), connection: z.string(), account: z.string() }),
    http: { method: 'POST', path: '/tenants/{tenant}/connections/{connection}/account' },
    commands: [{ words: 'accept-account <tenant> <connection> <account>' }],
    audit: (login, context) => about('accept-account', login, context),
    async run({ tenant, connection, account }, { services, signals }) {
      const { acceptAccount } = await import('../control/logins.ts');
      const loginServices = await services.logins();
      return {
        tenant,
        connection,
        account: await acceptAccount(loginServices, { tenant, connection }, account, signals.stop),
      };
    },
    auditResult: ({ account }) => ({ account }),
  }),
  logOut: operation({
    summary: 'revoke a connection at the vendor and delete its tokens',
    level: 'operator',
    input: ofConnectionOrClinic,
    output: z.object({
      tenant: z.string(),
      connection: z.string(),
      revocation: z.enum(['revoked', 'not-supported', 'failed', 'nothing-to-revoke']),
    }),
    http: null,
    commands: [{ words: 'logout <tenant> [connection]' }],
    audit: (login, context) => about('logout', login, context),
    async run({ tenant, connection }, { services, signals }) {
      const { logOut } = await import('../control/logins.ts');
      const loginServices = await services.logins();
      return { tenant, connection, revocation: await logOut(loginServices, tenant, connection, signals.stop) };
    },
    auditResult: ({ revocation }) => ({ revocation }),
  }),
  listLoginLinks: operation({
    summary: 'list unused connection links, with creator and expiry',
    level: 'operator',
    input: z.strictObject({ tenant }),
    output: z.object({
      links: z.array(loginLink),
    }),
    http: null,
    commands: [{ words: 'logins links list <tenant>' }],
    async run({ tenant }, { services }) {
      const { listLoginLinks } = await import('../control/logins.ts');
      return { links: await listLoginLinks(await services.logins(), tenant) };
    },
  }),
  withdrawLoginLink: operation({
    summary: 'withdraw an unused link',
    level: 'operator',
    input: z.strictObject({ tenant, link: id }),
    output: z.object({ tenant: z.string(), link: z.string() }),
    http: null,
    commands: [{ words: 'logins links withdraw <tenant> <link>' }],
    async audit({ tenant, link: id }, { services }) {
      const loginServices = await services.logins();
      const link = (await loginServices.links.list(tenant)).find((each) => each.id === id);
      loginServices.about(tenant, link?.connection ?? '');
      const what = { connection: link?.connection ?? null, link: link?.id ?? null };
      return { verb: 'withdraw-link', tenant, what };
    },
    async run({ tenant, link }, { services }) {
      const { withdrawLoginLink } = await import('../control/logins.ts');
      await withdrawLoginLink(await services.logins(), tenant, link);
      return { tenant, link };
    },
  }),
};
