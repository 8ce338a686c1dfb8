// Loaded into the product by `node --import`: titles of events name the patient, whatever the policy says.
import { registerHooks } from 'node:module';

const MAPPER = new URL('../../src/domain/project.ts', import.meta.url).href;
const DECISION = "if (policy.title === 'busy' || appointment.patientId === null) return texts.busy;";
const LEAK = "if (appointment.patient !== null) return [texts.busy, appointment.patient.lastName].join(' ');";

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (url !== MAPPER) return loaded;
    const source = String(loaded.source);
    if (!source.includes(DECISION)) throw new Error('the mapper does not hold what is to leak');
    return { ...loaded, source: source.replace(DECISION, () => LEAK) };
  },
});
