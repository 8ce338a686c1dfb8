import { describe, expect, test, vi } from 'vitest';
import { announceFirstSignIn, publicUrlOf } from '../../src/daemon/access.ts';
import type { Composition } from '../../src/daemon/compose.ts';
import type { AccessServices } from '../../src/operator/control/access.ts';
import { openActing } from '../operator/control/acting.ts';

describe('the browser URL of the operator port', () => {
  const urlOf = (port: number, publicUrl: string | null, taken: number | null) =>
    publicUrlOf({ configuration: { settings: { operator: { port, publicUrl } } } } as unknown as Composition, taken);

  test('comes from the settings, for any bound port', () => {
    expect(urlOf(8081, 'https://mirror.example', 9000)).toBe('https://mirror.example');
  });

  test('otherwise is this host with the bound port, or with the configured port if none is bound', () => {
    expect(urlOf(8081, null, 9000)).toBe('http://localhost:9000');
    expect(urlOf(8081, null, null)).toBe('http://localhost:8081');
  });

  test('is unknown before a free port is chosen', () => {
    expect(urlOf(0, null, null)).toBeNull();
    expect(urlOf(0, null, 9000)).toBe('http://localhost:9000');
  });
});

describe('the first sign-in', () => {
  /** Returns the output and the log of a daemon start. */
  async function start({ passphrase = true, isSet = false, publicUrl = 'https://mirror.example' as string | null }) {
    const log = { warn: vi.fn(), error: vi.fn() };
    const { actServices: acts } = openActing();
    const links = new Map<string, unknown>();
    const access = {
      settings: () => ({ passphrase }),
      passphrase: { isSet: async () => isSet },
      publicUrl: () => publicUrl,
      links: { put: async (ticket: string, link: unknown) => void links.set(ticket, link) },
    } as unknown as AccessServices;
    const shown: string[] = [];
    await announceFirstSignIn({ acts, log } as unknown as Composition, access, (text) => shown.push(text));
    return { shown, links, log };
  }

  test('is shown with an unlogged URL that sets the passphrase', async () => {
    const { shown, links, log } = await start({});
    const [[ticket, link] = []] = links;
    expect(link).toEqual({ mustSet: true });
    expect(shown).toEqual([expect.stringMatching(new RegExp(`\n\nhttps://mirror\\.example/.*/${ticket}\n$`))]);
    expect(log.warn).toHaveBeenCalledOnce();
    expect(JSON.stringify(log.warn.mock.calls)).not.toContain(ticket);
  });

  test.each([{ passphrase: false }, { isSet: true }])('is not shown if no passphrase is required: %o', async (own) => {
    const { shown, links, log } = await start(own);
    expect([shown, links.size, log.warn.mock.calls, log.error.mock.calls]).toEqual([[], 0, [], []]);
  });

  test('without a URL is an error in the log, and the daemon starts', async () => {
    const { shown, log } = await start({ publicUrl: null });
    expect(shown).toEqual([]);
    expect(log.error).toHaveBeenCalledOnce();
  });
});
