import type { Login } from '../world/tenants.ts';
import { type Fault, fault } from './fault.ts';

/** Faults of connections. */
export const TOKEN_FAULTS: Readonly<Record<string, Fault>> = {
  'token-revoked': fault({
    group: 'tokens',
    draw: (draw) => ({ login: draw.upTo(20) }),
    async play(scene, { login: index }) {
      const { logins, google, graph, clinic } = scene.world;
      const login = logins[index % logins.length] as Login;
      const revoke = {
        clinic: () => clinic.revokeAccess(login.username, clinic.clients[0]?.clientId ?? ''),
        google: () => google.revokeConsent(login.username),
        microsoft: () => graph.revokeConsent(login.username),
      };
      revoke[login.kind]();
      scene.count('token-revoked');
      scene.revoked.add(login);
      return {};
    },
  }),
  'tokens-ended': fault({
    group: 'tokens',
    draw: () => ({}),
    async play(scene) {
      scene.world.google.expireAccessTokens();
      scene.world.graph.expireAccessTokens();
      scene.count('tokens-ended');
      return {};
    },
  }),
  'token-refused': fault({
    group: 'tokens',
    draw: (draw) => ({ status: draw.pick([429, 500, 503]), times: draw.between(1, 3), clinic: draw.chance(0.6) }),
    async play(scene, { status, times, clinic }) {
      const { faults } = clinic ? scene.world.clinic : scene.world.google;
      const [id = ''] = faults.add({ match: { path: '/token' }, times, fault: { kind: 'status', status } });
      if (!clinic) scene.world.google.expireAccessTokens();
      scene.count('token-refused');
      return { cease: () => void faults.remove(id) };
    },
  }),
};
