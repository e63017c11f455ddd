// Writes what is drawn as SVG. It has the part of a canvas context that `draw` needs.
import type { Pen } from "./draw.ts";

const number = (value: number) => String(Math.round(value * 100) / 100);
const escape = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

export class SvgPen implements Pen {
  fillStyle: Pen["fillStyle"] = "";
  strokeStyle: Pen["strokeStyle"] = "";
  lineWidth = 1;
  globalAlpha = 1;
  lineJoin: CanvasLineJoin = "round";
  font = "";
  textAlign: CanvasTextAlign = "center";
  textBaseline: CanvasTextBaseline = "middle";
  readonly #measure: (text: string) => { width: number };
  readonly #size: { width: number; height: number };
  readonly #elements: string[] = [];
  #path: string[] = [];
  #dash = "";

  constructor(size: { width: number; height: number }, measure: (text: string) => { width: number }) {
    this.#size = size;
    this.#measure = measure;
  }

  measureText(text: string) { return this.#measure(text); }
  setLineDash(dash: number[]) { this.#dash = dash.join(" "); }
  beginPath() { this.#path = []; }
  closePath() { this.#path.push("Z"); }
  moveTo(x: number, y: number) { this.#path.push(`M${number(x)} ${number(y)}`); }
  lineTo(x: number, y: number) { this.#path.push(`L${number(x)} ${number(y)}`); }

  /** Full circles only. */
  arc(x: number, y: number, r: number) {
    const [left, right, radius] = [`${number(x - r)} ${number(y)}`, `${number(x + r)} ${number(y)}`, number(r)];
    this.#path.push(`M${right}A${radius} ${radius} 0 1 1 ${left}A${radius} ${radius} 0 1 1 ${right}`);
  }

  fill() { if (this.#path.length > 0) this.#add("path", `d="${this.#path.join("")}" fill="${String(this.fillStyle)}"`); }
  stroke() { if (this.#path.length > 0) this.#add("path", `d="${this.#path.join("")}" fill="none" ${this.#strokes()}${this.#dash && ` stroke-dasharray="${this.#dash}"`}`); }
  fillRect(x: number, y: number, width: number, height: number) { this.#add("rect", `x="${x}" y="${y}" width="${width}" height="${height}" fill="${String(this.fillStyle)}"`); }
  fillText(text: string, x: number, y: number) { this.#text(text, x, y, `fill="${String(this.fillStyle)}"`); }
  strokeText(text: string, x: number, y: number) { this.#text(text, x, y, `fill="none" ${this.#strokes()} stroke-linejoin="${this.lineJoin}"`); }

  toString(): string {
    const { width, height } = this.#size;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" text-anchor="middle">${this.#elements.join("")}</svg>`;
  }

  #strokes() { return `stroke="${String(this.strokeStyle)}" stroke-width="${number(this.lineWidth)}"`; }
  #text(text: string, x: number, y: number, paint: string) { this.#add("text", `x="${number(x)}" y="${number(y)}" dominant-baseline="central" style="font:${escape(this.font)}" ${paint}`, escape(text)); }
  #add(name: string, attributes: string, content = "") {
    this.#elements.push(`<${name} ${attributes}${this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : ""}>${content}</${name}>`);
  }
}
