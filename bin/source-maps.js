// Loaded with the bundle only. Node's own --enable-source-maps reads each map when its file is loaded, which costs more than the bundle saves.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/**
 * Makes stack traces name the source file and its line: for files of a folder with maps (`cli.js`, `cli.js.map`). A map is
 * read for the first stack trace that needs it. Without a valid map, the trace names the file of the folder.
 * @param {string} folder URL with a slash at its end
 */
export function nameSources(folder) {
  /** Maps by their files, weakly, because the largest takes 23 MB. */
  const maps = new Map();
  /** Source positions by positions in the bundle, so that a repeated error reads no map again. */
  const sources = new Map();

  const sourceOf = (position, file, line, column) => {
    if (!sources.has(position)) sources.set(position, readSource(maps, file, line, column) ?? position);
    return sources.get(position);
  };
  const withSource = (site) => {
    const frame = String(site);
    const file = site.getFileName();
    if (!file?.startsWith(folder)) return frame;
    const [line, column] = [site.getLineNumber(), site.getColumnNumber()];
    const position = `${file}:${line}:${column}`;
    return frame.replace(position, () => sourceOf(position, file, line, column));
  };
  Error.prepareStackTrace = (error, sites) =>
    headOf(error) + sites.map((site) => `\n    at ${withSource(site)}`).join('');
}

/** Returns undefined without a valid map, or if no source belongs to the position. */
function readSource(maps, file, line, column) {
  try {
    let map = maps.get(file)?.deref();
    if (map === undefined) {
      map = new SourceMap(JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8')));
      maps.set(file, new WeakRef(map));
    }
    const entry = map.findEntry(line - 1, column - 1);
    if (entry.generatedLine !== line - 1) return undefined;
    return `${new URL(entry.originalSource, file).href}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  } catch {
    return undefined;
  }
}

/** Returns the head as V8 writes it; an error's own properties may throw. */
function headOf(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}
