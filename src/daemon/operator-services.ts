import { MirrorError } from '../core/model/errors.ts';
import { message } from '../messages/message.ts';
import { mustSignInAgain } from '../operator/control/access.ts';
import { requireTenant } from '../operator/control/installation.ts';
import type { LoginPurpose, LoginServices, RemoteLoginUrls } from '../operator/control/logins.ts';
import { resumeTargets } from '../operator/control/resume.ts';
import { principalOf } from '../operator/control/sign-in.ts';
import type { Statuses } from '../operator/control/statuses.ts';
import { LOGIN_CALLBACK_PATH, LOGIN_LINK_PATH } from '../operator/http-server/login-page.ts';
import type { OperatorServices } from '../operator/http-server/operators.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { withoutSubscriptions } from '../tenant/subscriptions.ts';
import { openBackups } from './backup.ts';
import type { Composition } from './compose.ts';

/** Returns the services for users to connect accounts. */
export function createLoginServices(composition: Composition): LoginServices {
  const { http } = composition.configuration.settings;
  return {
    pending: composition.logins,
    links: composition.loginLinks,
    clock: composition.installation.clock,
    log: composition.log,
    remote: http.publicUrl === null ? null : remoteUrls(http.publicUrl),
    loopbackPort: http.loginPort,
    beforeLogout: (tenant, connection, logOut, signal) =>
      withoutSubscriptions(requireTenant(composition.installation, tenant), connection, logOut, signal),
    async onLogin(id, connection) {
      const { queues, installation } = composition;
      const tenant = requireTenant(installation, id);
      await resumeTargets(tenant);
      await queues.pullNow(id);
      await queues.renewSubscriptions(id, { hurry: true });
      await tenant.triggers?.wake(0, { read: true });
      // A different account possibly has other calendars under equal names.
      for (const { id: target, configuration } of tenant.targets.values()) {
        if (configuration.connection === connection) await queues.checkTarget(id, target, { delayMs: 0, whole: true });
      }
    },
    target(tenant, connection) {
      requireTenant(composition.installation, tenant);
      const tokens = composition.composed.get(tenant)?.connections.get(connection)?.tokens;
      const verify = composition.composed.get(tenant)?.verifyClinicLogin;
      if (tokens != null)
        return connection === CLINIC_CONNECTION && verify ? { ...tokens.login, verify } : tokens.login;
      throw new MirrorError(message('no-such-login.of-tenant', { tenant, connection }), {
        actor: 'settings',
        code: 'no-such-login',
        retry: 'never',
        remedy: message('available-names', { names: loginNames(composition, tenant).join(', ') || 'none' }),
      });
    },
    about: (tenant, connection) => purposeOf(composition, tenant, connection),
    isUsed: (tenant, connection) =>
      connection === CLINIC_CONNECTION ||
      [...requireTenant(composition.installation, tenant).targets.values()].some(
        ({ configuration }) => configuration.connection === connection,
      ),
  };
}

/** Returns the purpose of a connection from its configuration. */
function purposeOf({ installation }: Composition, id: string, connection: string): LoginPurpose {
  const { configuration: tenant, targets } = requireTenant(installation, id);
  const using = [...targets.values()].filter((target) => target.configuration.connection === connection);
  return {
    clinic: tenant.name,
    language: tenant.language,
    targets: using.map(({ crm, configuration: { connector } }) => ({
      connector,
      holds: crm === null ? 'events' : 'objects',
    })),
  };
}

function remoteUrls(publicUrl: string): RemoteLoginUrls {
  return { callbackUrl: `${publicUrl}${LOGIN_CALLBACK_PATH}`, linkUrl: `${publicUrl}${LOGIN_LINK_PATH}` };
}

function loginNames({ composed }: Composition, tenant: string): string[] {
  const connections = [...(composed.get(tenant)?.connections.values() ?? [])];
  return connections.filter(({ tokens }) => tokens !== null).map(({ id }) => id);
}

/** Opens the services for pages and API. */
export function openOperatorServices(
  composition: Composition,
  statuses: Statuses,
  configurations: OperatorServices['configurations'],
  access: OperatorServices['access'],
): OperatorServices {
  const { installation, acts, log } = composition;
  return {
    installation,
    statuses,
    loginServices: () => createLoginServices(composition),
    access,
    backups: openBackups(composition, configurations),
    configurations,
    acting(visitor, why) {
      const isStale = mustSignInAgain(access.settings(), visitor, installation.clock());
      return { who: principalOf(visitor), why, isStale, actServices: acts };
    },
    log,
  };
}
