// Loaded into a process by `node --import`. At exit, prints the loaded packages, vendors' connectors and files of src/ to standard error.
import { registerHooks } from 'node:module';

const loaded = new Set<string>();
registerHooks({
  load(url, context, nextLoad) {
    const [, name] = /\/(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
    const [, vendor] = /\/src\/connectors\/([^/]+)\/connector\.ts$/.exec(url) ?? [];
    const [file] = name === undefined ? (/src\/[^?]+$/.exec(url) ?? []) : [];
    for (const one of [name, vendor, file]) if (one !== undefined) loaded.add(one);
    return nextLoad(url, context);
  },
});
process.on('exit', () => process.stderr.write(`\nloaded: ${[...loaded].sort().join(' ')}\n`));
