import type { HubSpotSandbox } from '../../sandbox/hubspot/index.ts';
import { hubspot } from '../../src/connectors/hubspot/index.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { paced } from '../support/pace.ts';
import { targetOf } from './cycle.ts';

/**
 * Makes targets of a tenant write to a HubSpot account instead of the model.
 * @param apiUrl of the sandbox, or of a proxy before it
 */
export function writeToHubSpot(
  tenant: OpenTenant,
  ids: readonly string[],
  { sandbox, apiUrl = sandbox.apiUrl, settings = {} }: { sandbox: HubSpotSandbox; apiUrl?: string; settings?: object },
): void {
  const token = sandbox.issuePrivateToken();
  const header = async () => `Bearer ${token}`;
  for (const id of ids) {
    const target = targetOf(tenant, id);
    const given = hubspot.settingsSchema.parse({ apiUrl, ...settings });
    target.supports = { ...hubspot.supports, keys: hubspot.keysOf!(given, target.stream) };
    target.connector = hubspot.open({
      settings: given,
      ownerTag: target.identity.ownerTag,
      crm: { stream: target.stream, properties: target.crm!.mapping.properties },
      authorizer: { header, renew: header, quotaUser: null },
      http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5_000) }),
      shared: new SharedState(),
      log: silentLogger,
      clock: tenant.clock,
    });
  }
}
