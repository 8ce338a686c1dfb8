// Loaded into a daemon by `node --import`: it runs without the safety that CHAOS_WITHOUT names.
import fs from 'node:fs';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import { MECHANISMS } from '../without/mechanisms.ts';

const mechanism = process.env.CHAOS_WITHOUT ?? '';
const rewrites = MECHANISMS[mechanism]?.rewrites;
if (rewrites === undefined) throw new Error(`there is no safety "${mechanism}" to take out`);
const root = new URL('../../../src/', import.meta.url).href;

/** Returns a file without the removed text; null for a file without such text. */
function rewritten(url: string, text: () => string): string | null {
  const own = rewrites?.filter(({ module }) => url === `${root}${module}`) ?? [];
  if (own.length === 0) return null;
  return own.reduce((source, { module, find, replace }) => {
    if (!source.includes(find)) throw new Error(`src/${module} does not hold what is to be removed`);
    return source.replace(find, () => replace);
  }, text());
}

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const source = rewritten(url, () => String(loaded.source));
    return source === null ? loaded : { ...loaded, source };
  },
});

// Scripts of Redis are read, not imported.
const { readFileSync } = fs;
fs.readFileSync = ((path: URL | string, ...options: []) => {
  const read = readFileSync(path, ...options);
  // Node reads modules that are imported later in this way too.
  const isScript = path instanceof URL && path.pathname.endsWith('.lua');
  return isScript ? (rewritten(path.href, () => String(read)) ?? read) : read;
}) as typeof readFileSync;
syncBuiltinESMExports();
