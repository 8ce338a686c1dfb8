import { z } from 'zod';
import { acceptAccount, beginRemoteLogin } from '../../../control/acts.ts';
import { type Route, route, withReason } from '../route.ts';

/** What can't be taken back, or protects people. */
export const PEOPLE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/tenants/{tenant}/connections/{connection}/login-link',
    name: 'makeLoginLink',
    summary: 'Make a link at which a person logs in; it can be opened once, for ten minutes',
    level: 'operator',
    reply: z.object({ url: z.string() }),
    handle: async ({ acting, desk, params }) => ({
      url: (await beginRemoteLogin(acting, desk.loginDesk(), params.tenant, params.connection)).url,
    }),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/connections/{connection}/account',
    name: 'acceptAccount',
    summary: 'Say that the account of a login is the right one',
    level: 'operator',
    body: withReason.extend({ account: z.string().describe('Its id or address, as the connections show it') }),
    reply: z.object({ account: z.string() }),
    handle: async ({ acting, desk, params, body, signals }) => ({
      account: await acceptAccount(
        acting,
        desk.loginDesk(),
        params.tenant,
        params.connection,
        body.account,
        signals.stop,
      ),
    }),
  }),
];
