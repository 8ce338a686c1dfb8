import { z } from 'zod';
import { tenant } from '../../core/model/schemas.ts';
import { operation } from '../../operator/operations/operation.ts';
import { retention } from './schemas.ts';

/** Operations that report the retention of data. */
export const RETENTION_OPERATIONS = {
  reportRetention: operation({
    summary: 'show how long each kind of data is kept, how it ends, and what the last checks deleted',
    level: 'viewer',
    input: z.strictObject({ tenant }),
    output: retention,
    http: { method: 'GET', path: '/tenants/{tenant}/retention' },
    commands: [{ words: 'retention <tenant>', isOfOneTenant: true }],
    async run({ tenant }, { services: { installation }, acting }) {
      const { reportRetention } = await import('./retention.ts');
      return reportRetention(installation, acting, tenant);
    },
    document: async () => (await import('./retention.ts')).retentionDocument,
    page: { path: '/retention', names: { en: 'Retention', it: 'Conservazione' } },
  }),
};
