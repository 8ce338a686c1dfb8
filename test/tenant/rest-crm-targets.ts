import type { RestCrmSandbox } from '../../sandbox/rest-crm/index.ts';
import { restCrm } from '../../src/connectors/rest-crm/index.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { Clock } from '../../src/core/model/time.ts';
import type { OpenTarget } from '../../src/tenant/tenant.ts';
import { paced } from '../support/pace.ts';

/**
 * Makes a target of a tenant write into EspoCRM's sandbox.
 * @param settings in addition to the profile
 */
export function writeToEspoCrm(target: OpenTarget, sandbox: RestCrmSandbox, clock: Clock, settings: object = {}): void {
  const parsed = restCrm.settingsSchema.parse({ baseUrl: sandbox.apiUrl, profile: 'espocrm', ...settings });
  const key = async () => sandbox.token;
  const crm = target.crm!;
  const { properties } = crm.mapping;
  const isMapped = (property: string) => properties.some(({ name }) => name === property);
  target.supports = { ...restCrm.supports, keys: restCrm.keysOf!(parsed, 'patients') };
  crm.refusals = restCrm.refusals!(parsed, target.stream).filter(({ property }) => isMapped(property));
  target.connector = restCrm.open({
    settings: parsed,
    ownerTag: target.identity.ownerTag,
    crm: { stream: target.stream, properties },
    authorizer: { header: key, renew: key, quotaUser: null, headerName: 'x-api-key' },
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5_000) }),
    shared: new SharedState(),
    log: silentLogger,
    clock,
  });
}
