// Loaded by `node --import`: adds the last name to texts that name the patient, and replaces the clinic's number by the tax code.
import { registerHooks } from 'node:module';

const TEXTS = new URL('../../src/features/reminders/content.ts', import.meta.url).href;
const LEAKS: readonly (readonly [written: string, leak: string])[] = [
  ["shownName(patient?.firstName ?? '')", "shownName([patient?.firstName, patient?.lastName].join(' '))"],
  ["shownLine(file.phone ?? '')", "shownLine(patient?.taxCode ?? '')"],
];

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (url !== TEXTS) return loaded;
    const source = LEAKS.reduce((text, [written, leak]) => {
      if (!text.includes(written)) throw new Error('the texts do not hold what is to leak');
      return text.replace(written, () => leak);
    }, String(loaded.source));
    return { ...loaded, source };
  },
});
