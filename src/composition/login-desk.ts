import { LOGIN_CALLBACK_PATH } from '../admin/login-page.ts';
import { requireTenant } from '../control/estate.ts';
import type { LoginDesk } from '../control/logins.ts';
import { resumeTargets } from '../control/resume.ts';
import { withoutChannels } from '../jobs/channels.ts';
import { MirrorError } from '../model/errors.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import type { Composition } from './compose.ts';

/** The logins that persons can make. */
export function loginDesk(composition: Composition): LoginDesk {
  return {
    pending: composition.logins,
    clock: composition.estate.clock,
    log: composition.log,
    callbackUrl: `${composition.configuration.settings.http.publicUrl}${LOGIN_CALLBACK_PATH}`,
    beforeLogout: (tenant, connection, logOut, signal) =>
      withoutChannels(requireTenant(composition.estate, tenant), connection, logOut, signal),
    async onLogin(id, connection) {
      const { queues, estate } = composition;
      const tenant = requireTenant(estate, id);
      await resumeTargets(tenant);
      await queues.pullNow(id);
      await queues.keepChannels(id, { hurry: true });
      await tenant.triggers?.wake(0, { read: true });
      // It may be another account, with other calendars behind the same names.
      for (const { id: target, configuration } of tenant.targets.values()) {
        if (configuration.connection === connection) await queues.look(id, target, { delayMs: 0, whole: true });
      }
    },
    target(tenant, connection) {
      const tokens = composition.composed.get(tenant)?.connections.get(connection)?.tokens;
      const verify = composition.composed.get(tenant)?.verifyClinicLogin;
      if (tokens != null)
        return connection === CLINIC_CONNECTION && verify ? { ...tokens.login, verify } : tokens.login;
      throw new MirrorError(`tenant "${tenant}" has no connection "${connection}" that a person logs in to`, {
        actor: 'settings',
        code: 'no-such-login',
        retry: 'never',
        remedy: `there are: ${loginNames(composition, tenant).join(', ') || 'none'}`,
      });
    },
    isUsed: (tenant, connection) =>
      connection === CLINIC_CONNECTION ||
      [...requireTenant(composition.estate, tenant).targets.values()].some(
        ({ configuration }) => configuration.connection === connection,
      ),
  };
}

function loginNames({ composed }: Composition, tenant: string): string[] {
  const connections = [...(composed.get(tenant)?.connections.values() ?? [])];
  return connections.filter(({ tokens }) => tokens !== null).map(({ id }) => id);
}
