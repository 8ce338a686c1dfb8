import { describe, expect, test } from 'vitest';
import { useRedis } from '../../../support/redis.ts';
import { OWNER, openActsPages } from './open-pages.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';

describe('an unavailable resource', () => {
  const asked = { accept: 'text/html,*/*;q=0.8' };

  test('is a page without details of the installation for a user, and a code for an API client', async () => {
    const { app } = await openActsPages(redis.connect(), {
      visitor: { ...OWNER, level: 'viewer', tenants: new Set(['another']) },
    });
    const ask = async (url: string, method: 'GET' | 'POST' = 'GET') => {
      const person = await app.inject({ url, method, headers: { ...asked, 'accept-language': 'it' } });
      const program = await app.inject({ url, method });
      expect(person.headers['content-type'], url).toBe('text/html; charset=utf-8');
      expect(person.body).toContain('<html lang="it">');
      expect(person.body).toContain(`<code>${program.json().error}</code>`);
      expect(person.body).not.toMatch(/studio-rossi|another/);
      expect(person.statusCode).toBe(program.statusCode);
      return `${person.statusCode} ${program.json().error}`;
    };
    expect(await ask('/nowhere')).toBe('404 not-found');
    expect(await ask(`/tenants/${TENANT}`)).toBe('404 no-such-tenant');
    expect(await ask('/queues')).toBe('403 not-allowed');
    expect(await ask('/preferences', 'POST')).toBe('403 not-from-here');
  });

  test('after the end of the session offers the sign-in, and nothing was done', async () => {
    const { app } = await openActsPages(redis.connect(), { visitor: null });
    const { statusCode, body } = await app.inject({ url: `/tenants/${TENANT}/sync`, method: 'POST', headers: asked });
    expect(statusCode).toBe(401);
    expect(body).toMatch(/Session expired[\s\S]*Nothing was changed[\s\S]*href="\/sign-in"/);
  });
});
