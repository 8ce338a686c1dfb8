import type { ClinicSandbox } from '../../../sandbox/clinic/index.ts';
import type { ClinicContext } from '../../../src/clinic/http/call.ts';
import type { ClinicProfile } from '../../../src/clinic/schema/profile.ts';
import { CompiledProfile } from '../../../src/clinic/schema/profile.ts';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { ClinicAccess } from '../../../src/operator/control/clinic.ts';

/** Opens the clinic API of a sandbox's tenant with a token, as the command line does. */
export function openClinicAccess(
  sandbox: Pick<ClinicSandbox, 'baseUrl'>,
  token: string,
  profile: ClinicProfile,
  more: Partial<ClinicContext> = {},
): ClinicAccess {
  const header = async () => `Bearer ${token}`;
  const context: ClinicContext = {
    profile,
    profileFile: 'profiles/test.yaml',
    compiled: new CompiledProfile(profile),
    pagings: new Map(),
    baseUrl: sandbox.baseUrl,
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now }),
    budget: null,
    authorization: { header, renew: header },
    clock: Date.now,
    log: silentLogger,
    ...more,
  };
  return {
    tenant: 'studio-rossi',
    tenantId: createTenantSource(context, null).tenantId,
    serialise: (_place, work, signal) => work(signal),
    context,
  };
}
