import type { Scene } from '../run/scene.ts';
import type { CalendarTarget } from '../world/tenants.ts';
import { editTenant } from '../world/tenants.ts';
import { type Fault, fault } from './fault.ts';

function targetOf({ world }: Scene, index: number): CalendarTarget {
  return world.targets[index % world.targets.length] as CalendarTarget;
}

/** Changes that operators make to the configuration; daemons apply a change one after another. */
export const CONFIG_FAULTS: Readonly<Record<string, Fault>> = {
  'target-renamed': fault({
    group: 'config',
    draw: (draw) => ({ target: draw.upTo(6) }),
    async play(scene, { target: index }) {
      const target = targetOf(scene, index);
      const [from, to] = [target.target, `${target.target}-b`];
      await editTenant(scene.world.configDir, target.tenant, (file) => {
        const { [from]: entry, ...others } = file.targets;
        if (entry === undefined) return;
        file.targets = { ...others, [to]: { ...entry, formerly: entry.formerly ?? from } };
      });
      target.target = to;
      scene.count('target-renamed');
      await scene.rollOver();
      return {};
    },
  }),
  'target-paused': fault({
    group: 'config',
    draw: (draw) => ({ target: draw.upTo(6) }),
    async play(scene, { target: index }) {
      const target = targetOf(scene, index);
      const pause = (paused: boolean) =>
        editTenant(scene.world.configDir, target.tenant, (file) => {
          const entry = file.targets[target.target];
          if (entry !== undefined) entry.paused = paused;
        });
      await pause(true);
      scene.count('target-paused');
      await scene.rollOver();
      scene.atEnd(() => pause(false));
      return {};
    },
  }),
  'target-removed': fault({
    group: 'config',
    draw: (draw) => ({ target: draw.upTo(6) }),
    async play(scene, { target: index }) {
      const target = targetOf(scene, index);
      await editTenant(scene.world.configDir, target.tenant, (file) => {
        const { [target.target]: _removed, ...others } = file.targets;
        file.targets = others;
      });
      scene.dismiss(target);
      scene.count('target-removed');
      await scene.rollOver();
      return {};
    },
  }),
  'old-replica': fault({
    group: 'config',
    draw: (draw) => ({ tenant: draw.upTo(2), title: draw.pick(['full', 'busy']) }),
    async play(scene, { tenant: index, title }) {
      const tenant = [...scene.world.tenants.keys()][index] ?? '';
      const write = (level: string) =>
        editTenant(scene.world.configDir, tenant, (file) => {
          for (const entry of Object.values(file.targets)) if ('title' in entry) entry.title = level;
        });
      scene.doubt('titles');
      await write(title);
      scene.count('old-replica');
      await scene.rollOver({ butOne: true });
      return { lasts: scene.passed(150), cease: () => write('full').then(() => scene.rollOver({ butOne: true })) };
    },
  }),
};
