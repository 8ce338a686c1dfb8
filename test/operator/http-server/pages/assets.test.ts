import { describe, expect, test } from 'vitest';
import { openInstallation } from '../../control/open-installation.ts';
import { openPages } from './open-pages.ts';

const NO_CLINIC = openInstallation({ tenants: [] });

describe('an asset of pages', () => {
  test('is cached permanently if its URL contains its hash, and revalidated otherwise', async () => {
    const { app, see } = await openPages({ installation: NO_CLINIC, visitor: null });
    const addresses = (await openPages({ installation: NO_CLINIC }).then(({ see: seen }) => seen('/'))).match(
      /\/assets\/[^"]+/g,
    );
    expect(addresses?.length).toBeGreaterThan(3);
    for (const url of addresses ?? []) {
      const { statusCode, headers } = await app.inject({ url });
      expect([statusCode, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
    }
    const other = await app.inject({ url: '/assets/pages.css?v=other' });
    expect(other.headers['cache-control']).toBe('no-cache');
    expect(JSON.parse(await see('/assets/..%2fpages.ts'))).toEqual({ error: 'not-found' });
  });

  test('is compressed for browsers that accept it', async () => {
    const { app } = await openPages({ installation: NO_CLINIC });
    const plain = await app.inject({ url: '/assets/pages.css' });
    const packed = await app.inject({ url: '/assets/pages.css', headers: { 'accept-encoding': 'br, gzip' } });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
  });
});
