// The page's icons as inline SVG.
const paths = {
  menu: <path d="M4 7h16M4 12h16M4 17h16" />,
  plus: <path d="M12 5v14M5 12h14" />,
  trash: <path d="M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12" />,
  send: <path d="M5 12h13M12 6l6 6-6 6" />,
  back: <path d="M19 12H6M12 6l-6 6 6 6" />,
  fit: <path d="M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5" />,
  close: <path d="M6 6l12 12M18 6 6 18" />,
  more: <path stroke-width="3" d="M6 12h0M12 12h0M18 12h0" />,
  check: <path d="m5 12.5 4.5 4.5L19 7.5" />,
  chat: <path d="M5 5h14v10H11l-4 4v-4H5z" />,
  facts: <path d="M5 7h14M5 12h9M5 17h12" />,
  document: <path d="M7 4h7l4 4v12H7zM14 4v4h4M10 12h5M10 15.5h5" />,
  compare: <path d="M4 5h7v14H4zM13 5h7v14h-7zM6.5 9h2M6.5 12h2M15.5 9h2M15.5 12h2" />,
  graph: <><circle cx="6.5" cy="16.5" r="2.5" /><circle cx="17.5" cy="16.5" r="2.5" /><circle cx="12" cy="6.5" r="2.5" /><path d="m10.8 8.8-3 5.4M13.2 8.8l3 5.4" /></>,
  settings: <><path d="M4 7h8.5M17.5 7H20M4 17h2.5M11.5 17H20" /><circle cx="15" cy="7" r="2.5" /><circle cx="9" cy="17" r="2.5" /></>,
} as const;

export function Icon({ name }: { name: keyof typeof paths | "mark" }) {
  if (name === "mark") {
    return (
      <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="9" />
        <path d="M9.5 21.5 16 10l6.5 11.5z" />
        <circle cx="16" cy="10" r="4" /><circle cx="9.5" cy="21.5" r="3.4" /><circle cx="22.5" cy="21.5" r="3.4" />
      </svg>
    );
  }
  return <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">{paths[name]}</svg>;
}
