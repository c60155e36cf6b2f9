import { readRaw } from '../raw-reader.ts';
import type { Contender } from './contender.ts';

export const raw: Contender = async ({ address, project, collection }) => {
  const { messages } = await readRaw(address, project, collection);
  return { documents: messages };
};
