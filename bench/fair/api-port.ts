import { openAccess } from '../../src/composition/access.ts';
import { principalOfDaemon } from '../../src/composition/acts.ts';
import { openBackups } from '../../src/composition/backup.ts';
import type { Composition } from '../../src/composition/compose.ts';
import { createLoginServices } from '../../src/composition/operator-services.ts';
import { openStatuses } from '../../src/control/statuses.ts';
import { addApi } from '../../src/http-server/api/api.ts';
import { type ListeningServer, listen, openApp } from '../../src/http-server/app.ts';
import type { Visitor } from '../../src/http-server/operators.ts';

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
