import csv


def write_columns(path, **columns):
    """Write a CSV file of columns; return its name."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return str(path)
