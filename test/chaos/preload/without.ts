// Loaded into a daemon by `node --import`: it runs without the safety that CHAOS_WITHOUT names.
import { registerHooks } from 'node:module';
import { MECHANISMS } from '../without/mechanisms.ts';

const mechanism = process.env.CHAOS_WITHOUT ?? '';
const rewrites = MECHANISMS[mechanism]?.rewrites;
if (rewrites === undefined) throw new Error(`there is no safety "${mechanism}" to take out`);
const root = new URL('../../../src/', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const own = rewrites.filter(({ module }) => url === `${root}${module}`);
    if (own.length === 0) return loaded;
    let source = String(loaded.source);
    for (const { module, find, replace } of own) {
      if (!source.includes(find)) throw new Error(`src/${module} does not hold what is to be taken out`);
      source = source.replace(find, () => replace);
    }
    return { ...loaded, source };
  },
});
