import { openAccess } from '../../src/daemon/access.ts';
import { principalOfDaemon } from '../../src/daemon/acts.ts';
import { openBackups } from '../../src/daemon/backup.ts';
import type { Composition } from '../../src/daemon/compose.ts';
import { createLoginServices } from '../../src/daemon/operator-services.ts';
import { openStatuses } from '../../src/operator/control/statuses.ts';
import { addApi } from '../../src/operator/http-server/api/api.ts';
import { type ListeningServer, listen, openApp } from '../../src/operator/http-server/app.ts';
import type { Visitor } from '../../src/operator/http-server/operators.ts';

const OWNER: Visitor = { id: 'token:bench', name: 'bench', level: 'owner', tenants: null, csrf: '' };

/** Opens the API of a daemon on a free loopback port with every caller as owner: authorization is not measured. */
export async function openApiPort(composition: Composition): Promise<ListeningServer> {
  const { installation, acts, log } = composition;
  const app = await openApp({ log });
  app.decorateRequest('visitor', null);
  app.addHook('onRequest', async (request) => {
    request.visitor = OWNER;
  });
  addApi(app, {
    ...{ installation, statuses: openStatuses(), log, backups: openBackups(composition), configurations: null },
    access: openAccess(composition),
    loginServices: () => createLoginServices(composition),
    acting: (_, why) => ({ who: principalOfDaemon(), why, actServices: acts }),
  });
  return listen(Promise.resolve(app), 'operator', { host: '127.0.0.1', port: 0 });
}
