import { readCommand } from '@holdfast/server/platform/command-options';

const { values } = readCommand({
  usage: 'npm run demo --',
  about:
    'The whole story on one machine, in a Firestore in a box. The service stays afterwards, at http://127.0.0.1:8787 (PORT).',
  options: {
    once: {
      type: 'boolean',
      default: false,
      about: 'end when the story is told, with status 0 only if every step held',
    },
  },
});

export const { once } = values;
