import { describe, expect, test } from 'vitest';
import { openInstallation } from '../../control/open-installation.ts';
import { openPages } from './open-pages.ts';

const NO_CLINIC = openInstallation({ tenants: [] });

describe('who did what', () => {
  test('says so where no log is kept', async () => {
    const { see } = await openPages({ installation: NO_CLINIC, acting: { log: null } });
    expect(await see('/activity')).toContain('dataDirectory');
  });
});
