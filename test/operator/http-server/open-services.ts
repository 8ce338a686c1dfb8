import { silentLogger } from '../../../src/core/log/logger.ts';
import type { Installation } from '../../../src/operator/control/installation.ts';
import { openStatuses } from '../../../src/operator/control/statuses.ts';
import type { OperatorServices, Visitor } from '../../../src/operator/http-server/operators.ts';
import { openActing } from '../control/acting.ts';

/** A second tenant, for users who may see only that one. */
export const AURORA = 'aurora';

const VISITORS: Readonly<Record<string, Pick<Visitor, 'level' | 'tenants'>>> = {
  viewer: { level: 'viewer', tenants: null },
  operator: { level: 'operator', tenants: null },
  bruno: { level: 'operator', tenants: null },
  owner: { level: 'owner', tenants: null },
  'second-owner': { level: 'owner', tenants: null },
  'owner-of-aurora': { level: 'owner', tenants: new Set([AURORA]) },
  'viewer-of-aurora': { level: 'viewer', tenants: new Set([AURORA]) },
};

/**
 * Returns an administrator by name, or null for an unknown name. @param way how the server authenticates the administrator: `account`,
 * `token`
 */
export function visitorNamed(name: string, way: string, csrf = ''): Visitor | null {
  const visitor = VISITORS[name];
  return visitor === undefined ? null : { ...visitor, id: `${way}:${name}`, name, csrf };
}

/** What the port for operators works with: an installation, and nothing more than a test gives. */
export function openServices(installation: Installation, given: Partial<OperatorServices> = {}): OperatorServices {
  return {
    installation,
    statuses: openStatuses(),
    loginServices: () => {
      throw new Error('no test requires the sign-in services');
    },
    access: {} as OperatorServices['access'],
    backups: {} as OperatorServices['backups'],
    configurations: null,
    acting: (_, why) => openActing({ why }),
    log: silentLogger,
    ...given,
  };
}
