import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unpackBrotli, unpackBrotliTar } from './brotli-files.ts';
import { withFileLock } from './file-lock.js';
import { type Progress, terminalProgress } from './progress.ts';

/** Browsers of Debian and Google, used where the package has no browser. */
const INSTALLED = ['/usr/bin/chromium', '/usr/bin/google-chrome'];

/** No external requests, and no first-run pages. */
const ARGUMENTS = [
  ...['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--force-color-profile=srgb'],
];

/**
 * Only the packed fonts, because pages look different with the fonts of a host. The packed settings name folders of another host.
 * `relative` means the folder of this file, and `xdg` XDG_CACHE_HOME.
 */
const FONT_SETTINGS = `<?xml version="1.0"?>
<fontconfig><dir prefix="relative">fonts</dir><cachedir prefix="xdg">font-cache</cachedir></fontconfig>
`;

const require = createRequire(import.meta.url);
const cache = fileURLToPath(new URL('../.cache', import.meta.url));

/** A browser program and its environment, added to the environment of this process. */
interface BrowserCommand {
  path: string;
  env: Readonly<Record<string, string>>;
}

/** The host, as far as the choice of a browser depends on it. */
interface Host {
  platform: string;
  arch: string;
  /** The value of CLINIC_MIRROR_BROWSER. */
  chosen: string | undefined;
  isInstalled(path: string): boolean;
}

/**
 * Chooses the browser: the one that CLINIC_MIRROR_BROWSER names, then the pinned one of the package `@sparticuz/chromium` (Linux on x64
 * only), then an installed one; null if there is none.
 */
export function browserOf({ platform, arch, chosen, isInstalled }: Host): { path: string } | 'pinned' | null {
  if (chosen !== undefined && chosen !== '') return { path: chosen };
  if (platform === 'linux' && arch === 'x64') return 'pinned';
  const path = INSTALLED.find(isInstalled);
  return path === undefined ? null : { path };
}

const { platform, arch } = process;
const browser = browserOf({ platform, arch, chosen: process.env.CLINIC_MIRROR_BROWSER, isInstalled: existsSync });

/** Why no browser can start on this host; null if one can. */
export const whyNoBrowser =
  browser === null
    ? `the pinned Chromium is for Linux on x64, not ${platform} on ${arch}: install chromium, or set CLINIC_MIRROR_BROWSER`
    : null;

type Chromium = Awaited<ReturnType<typeof import('playwright-core')['chromium']['launch']>>;

/** A browser for tests of pages. */
export interface TestBrowser {
  /** Opens a separate context with a screen size, a language and a colour scheme. */
  open: Chromium['newContext'];
  close(): Promise<void>;
}

/** Starts the browser of this host with an empty profile. @throws Error if it does not start, or if this host has none */
export async function startBrowser(): Promise<TestBrowser> {
  if (browser === null) throw new Error(`No browser can start: ${whyNoBrowser}.`);
  const { path, env } = browser === 'pinned' ? await pinnedBrowser() : { ...browser, env: {} };
  const { chromium } = await import('playwright-core');
  const launched = await chromium.launch({ executablePath: path, args: ARGUMENTS, env: { ...process.env, ...env } });
  return { open: (options) => launched.newContext(options), close: () => launched.close() };
}

/**
 * Returns the pinned browser. The first call unpacks it into `folder/chromium-<version>`, with its libraries and fonts. Several processes may
 * call this at once.
 */
export async function pinnedBrowser(
  folder: string = cache,
  progress: Progress = terminalProgress,
): Promise<BrowserCommand> {
  const packageFolder = join(require.resolve('@sparticuz/chromium'), '../..');
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  const unpacked = join(folder, `chromium-${version}`);
  if (!existsSync(unpacked)) {
    await withFileLock(
      `${unpacked}.lock`,
      () => progress('Another start is unpacking Chromium: waiting for it …'),
      async () => {
        if (!existsSync(unpacked)) await unpack(join(packageFolder, 'bin'), unpacked);
      },
    );
  }
  const env = {
    LD_LIBRARY_PATH: join(unpacked, 'lib'),
    FONTCONFIG_FILE: join(unpacked, 'fonts.conf'),
    XDG_CACHE_HOME: unpacked,
  };
  return { path: join(unpacked, 'chromium'), env };
}

async function unpack(packed: string, folder: string): Promise<void> {
  // An interrupted start leaves a partial folder.
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  await unpackBrotliTar(join(packed, 'al2023.tar.br'), partial);
  await unpackBrotliTar(join(packed, 'fonts.tar.br'), partial);
  await unpackBrotli(join(packed, 'chromium.br'), join(partial, 'chromium'));
  await writeFile(join(partial, 'fonts.conf'), FONT_SETTINGS);
  await rename(partial, folder);
}
